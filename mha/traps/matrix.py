"""Which probe unmasks which mistake, and what weaker checks would have missed: computed from the exercises."""

from dataclasses import dataclass
from html import escape

import numpy as np

from .compare import alike
from .diagnosis import diagnose
from .mistakes import MISTAKES
from .tables import STYLE, Sign, folded, table

CHECKS = ("all probes", "first probe alone", "shapes alone", "all-ones input")


@dataclass(frozen=True)
class Row:
    """One wrong program in one exercise: which probes unmask it, which weaker checks do, and what it is named."""

    exercise: str
    number: int
    kills: dict  # probe label -> whether the values differ there
    by_shape: bool
    by_ones: bool | None  # None: the exercise has no arrays to fill with ones
    named: tuple

    def caught(self, check):
        """Whether one of CHECKS would have refused this program."""
        kills = list(self.kills.values())
        return {"all probes": any(kills), "first probe alone": kills[0], "shapes alone": self.by_shape,
                "all-ones input": self.by_ones is not False}[check]  # fmt: skip


@dataclass(frozen=True)
class KillMatrix:
    """Rows for every wrong program; a mistake counts as caught where all its forms are."""

    rows: tuple

    survivors = property(lambda self: [r for r in self.rows if not any(r.kills.values())], doc="Unmasked by no probe.")
    confusions = property(lambda self: [r for r in self.rows if r.named != (r.number,)], doc="Not named as themselves.")

    def table(self, exercise):
        """{number: {probe: share of this mistake's forms that the probe unmasks}} of one exercise."""
        table = {}
        for row in self._of(exercise):
            table.setdefault(row.number, []).append(row.kills)
        return {
            number: {probe: sum(k[probe] for k in kills) / len(kills) for probe in kills[0]}
            for number, kills in sorted(table.items())
        }

    def programs_caught(self, check):
        """How many of the wrong programs one of CHECKS would have refused."""
        return sum(row.caught(check) for row in self.rows)

    def caught(self, check):
        """(caught, all) among the pairs of exercise and mistake; caught means that none of its forms gets through.

        An exercise without arrays cannot be fed ones: there the all-ones input counts as catching.
        """
        verdicts = {}
        for row in self.rows:
            key = row.exercise, row.number
            verdicts[key] = verdicts.get(key, True) and row.caught(check)
        return sum(verdicts.values()), len(verdicts)

    def __repr__(self):
        lines = [f"{len(self.rows)} wrong programs, {len(self.survivors)} survive, {len(self.confusions)} are confused"]
        for check in CHECKS:
            caught, among = self.caught(check)
            lines.append(f"{check + ':':<19} {caught} of {among} mistakes caught in all their forms")
        return "\n".join(lines)

    def html(self, exercise):
        """The table of one exercise: a row a mistake, a column a probe, in each cell how many forms are unmasked."""
        return STYLE + self._table(exercise)

    def _table(self, exercise):
        forms = {}
        for row in self._of(exercise):
            forms.setdefault(row.number, []).append(row.kills)
        probes = list(next(iter(forms.values()))[0])
        lines = [
            (f"{n} {MISTAKES[n].name}", str(len(kills)), *(_mark([k[probe] for k in kills]) for probe in probes))
            for n, kills in sorted(forms.items())
        ]
        caption = f"{exercise}: which probe unmasks which mistake"
        return table(caption, ("mistake", "forms", *probes), {"": lines}, marks=True)

    def _of(self, exercise):
        return [row for row in self.rows if row.exercise == exercise]

    def _repr_html_(self):
        """Whatever is wrong, then each exercise's table, folded."""
        parts = [STYLE]
        for word, rows in (("survives", self.survivors), ("is not named as itself", self.confusions)):
            parts += [f"<p>✗ {escape(row.exercise)}: a form of mistake {row.number} {word}.</p>" for row in rows]
        for exercise in dict.fromkeys(row.exercise for row in self.rows):
            rows = self._of(exercise)
            mistakes, probes = len({row.number for row in rows}), len(rows[0].kills)
            summary = f"{exercise}: {mistakes} mistake{'s' * (mistakes > 1)} in {len(rows)} forms, {probes} probes"
            parts.append(folded(summary, self._table(exercise)))
        return "".join(parts)


def _mark(unmasked):
    """A cell: all forms, some of them, or none."""
    if all(unmasked):
        return Sign("✓", "all forms")
    return f"{sum(unmasked)} of {len(unmasked)}" if any(unmasked) else Sign("–", "no form")


def kill_matrix(exercises, seed=0):
    """The KillMatrix of some exercises on one seed's probes."""
    return KillMatrix(tuple(row for exercise in exercises for row in _rows(exercise, seed)))


def _rows(exercise, seed):
    labels, expected = list(exercise.inputs(seed)), exercise.expected(seed)
    ones = _ones(exercise, seed)
    right_on_ones = ones and exercise.call_on(exercise.reference, ones).outcome
    for known in exercise.known(seed, "forms"):
        if known.numbers == (None,):
            continue
        found = [known.outcome(i) for i in range(len(labels))]
        yield Row(
            exercise.name,
            known.numbers[0],
            {label: not alike(mine, right) for label, mine, right in zip(labels, found, expected)},
            any(_shape(mine) != _shape(right) for mine, right in zip(found, expected)),
            ones and not alike(exercise.call_on(known.program, ones).outcome, right_on_ones),
            tuple(entry.number for entry in diagnose(exercise, seed, found, known.program)),
        )


def _ones(exercise, seed):
    """The first probe with every number of its arrays replaced by 1; None if it has none."""
    args = next(iter(exercise.inputs(seed).values()))
    if not any(isinstance(a, np.ndarray) for a in args):
        return None
    return [np.ones_like(a) if isinstance(a, np.ndarray) and a.dtype != bool else a for a in args]


def _shape(outcome):
    return [part.shape for part in outcome] if isinstance(outcome, tuple) else type(outcome)


def recognised_pairs(exercise, seed=0):
    """{pair of numbers: share of its forms that are told from every other mistake and pair}; 0 is not recognised."""
    told = {}
    for known in exercise.known(seed, "pairs"):
        found = [known.outcome(i) for i in range(len(exercise.inputs(seed)))]
        named = tuple(entry.number for entry in diagnose(exercise, seed, found, known.program))
        told.setdefault(known.numbers, []).append(named == known.numbers)
    return {numbers: sum(hits) / len(hits) for numbers, hits in sorted(told.items())}
