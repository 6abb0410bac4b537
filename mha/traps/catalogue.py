"""All mistakes by theme, with the exercises that can name each."""

from dataclasses import dataclass

from .mistakes import MISTAKES, THEMES
from .tables import STYLE, table


@dataclass(frozen=True, repr=False)
class Catalogue:
    """The mistakes by theme; `exercises` holds for each number the names of the exercises that list it."""

    exercises: dict

    def _themes(self):
        return {
            theme: [(str(n), MISTAKES[n].name, ", ".join(self.exercises[n])) for n in numbers]
            for theme, numbers in THEMES.items()
        }

    def __repr__(self):
        parts = (
            (theme, *(f"{n:>4}  {name}: {where}" for n, name, where in rows)) for theme, rows in self._themes().items()
        )
        return "\n".join(line for part in parts for line in part)

    def _repr_html_(self):
        head = ("no.", "mistake", "exercises that can name it")
        return STYLE + table(f"The {len(MISTAKES)} mistakes that the checker can name", head, self._themes())

    def theme(self, title):
        """The mistakes of one theme as HTML: what each one's values show."""
        rows = [(str(n), MISTAKES[n].name, MISTAKES[n].shows) for n in THEMES[title]]
        return STYLE + table(f"{title}: how the values show it", ("no.", "mistake", "what to see"), {"": rows})
