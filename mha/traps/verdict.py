"""What the checker says: text for a terminal, HTML for JupyterLab and the site."""

from dataclasses import dataclass
from html import escape

from .mistakes import Mistake

STYLE = "border-left:4px solid currentColor;padding:6px 12px;margin:6px 0;color:inherit;white-space:pre-wrap"
SIGNS = {"correct": "✓", "unanswered": "…"}


@dataclass(frozen=True, repr=False)
class Verdict:
    """What the values of one answer show.

    kind : "unanswered", "correct", "mistake", "pair", "unknown", "type", "shape", "raised",
        "changed input", "random", "slow" or "calls mha"
    title : one line
    lines : what more there is to say, one sentence or two each
    mistakes : the mistakes that are named: none, one, or a pair
    """

    kind: str
    title: str
    lines: tuple[str, ...] = ()
    mistakes: tuple[Mistake, ...] = ()

    ok = property(lambda self: self.kind == "correct", doc="True for a correct answer only.")
    mistake = property(lambda self: self.mistakes[0] if self.mistakes else None, doc="The (first) one named, or None.")
    number = property(lambda self: self.mistake.number if self.mistakes else None, doc="Its number, or None.")
    name = property(lambda self: self.mistake.name if self.mistakes else None, doc="Its name, or None.")
    numbers = property(lambda self: tuple(m.number for m in self.mistakes), doc="The numbers of all that are named.")

    @property
    def sign(self):
        """✓ for correct, … for not answered yet, ✗ for the rest."""
        return SIGNS.get(self.kind, "✗")

    def __str__(self):
        return "\n  ".join((f"{self.sign} {self.title}", *self.lines))

    __repr__ = __str__

    def _repr_html_(self):
        lines = "".join(f'<div style="margin-top:4px">{escape(line)}</div>' for line in self.lines)
        return (
            f'<div class="mha-verdict mha-verdict-{self.kind.replace(" ", "-")}" role="status" '
            f'style="{STYLE}">'
            f'<strong><span aria-hidden="true">{self.sign}</span> {escape(self.title)}</strong>{lines}</div>'
        )


def named(mistakes, note="", difference="", extra=()):
    """The verdict that names one mistake, or a pair."""
    lines = []
    for mistake in mistakes:
        if len(mistakes) > 1:
            lines.append(f"{mistake.name[0].upper()}{mistake.name[1:]} (mistake {mistake.number}):")
        lines += [note or mistake.did, mistake.shows, f"Where to look: {mistake.look} (chapter {mistake.chapter})"]
    if difference:
        lines.append(difference)
    kind = "mistake" if len(mistakes) == 1 else "pair"
    title = str(mistakes[0]) if kind == "mistake" else "two mistakes: " + " and ".join(map(str, mistakes))
    return Verdict(kind, title[0].upper() + title[1:], (*lines, *extra), tuple(mistakes))
