"""What would let all agents keep a budget that some cannot: fewer rounds, more rows, a larger η."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from simnet.errors import BudgetError
from simnet.methods.method import AgentSize, Method
from simnet.privacy.budget import Privacy

_MOST_ROWS, _LARGEST_FACTOR, _STEP = 10**7, 1e4, 1.02
"""How far to look for rows and for a factor on η, and how exactly."""


class Advice:
    """Asks a method about agents whose budget cannot be kept."""

    def __init__(self, method: Method, privacy: Privacy, sizes: Sequence[AgentSize], rounds: int) -> None:
        self._method, self._privacy, self._sizes, self._rounds = method, privacy, sizes, rounds
        self._failing = [size for size in dict.fromkeys(sizes) if self._complaint([size], rounds) is not None]

    def sentence(self, error: BudgetError) -> str:
        """Which agent binds, how many cannot, and what would do for all of them."""
        if not self._failing or not self._alone():  # agents are not judged one by one
            return str(error)
        rounds = self._most_rounds()
        stopped = [size for size in self._failing if self._complaint([size], rounds + 1)]
        binding = min(stopped or self._failing, key=lambda size: (size.rows * max(size.degree, 1), size.rows))
        agent, why = self._sizes.index(binding), self._complaint([binding], self._rounds)
        cannot = sum(size in self._failing for size in self._sizes)
        others = f"; {cannot} of {len(self._sizes)} agents cannot" if cannot > 1 else ""
        ways = list(filter(None, (f"rounds = {rounds}" if rounds else "", self._more_rows(), self._larger_eta())))
        could = f"; all could with {' or '.join(filter(None, (', '.join(ways[:-1]), *ways[-1:])))}" if ways else ""
        neighbours = f"{binding.degree} neighbour{'' if binding.degree == 1 else 's'}"
        return f"agent {agent} ({_rows(binding.rows)}, {neighbours}): {why}{others}{could}"

    def _alone(self) -> bool:
        """Whether the agents that are not failing can indeed do without the others."""
        return self._complaint([size for size in self._sizes if size not in self._failing], self._rounds) is None

    def _complaint(self, sizes: Sequence[AgentSize], rounds: int, method: Method | None = None) -> str | None:
        """Why these agents cannot; None if they can."""
        try:
            if sizes:
                (method or self._method).calibrate(self._privacy, sizes, rounds)
        except ValueError as error:
            return str(error)
        return None

    def _most_rounds(self) -> int:
        """The most rounds that all agents can play; 0 if not even one."""
        low, high = 0, self._rounds
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._complaint(self._failing, middle) else (middle, high)
        return low

    def _more_rows(self) -> str:
        """The fewest rows with which every agent could; they are there if there are enough in all."""

        def fits(least: float) -> bool:
            return not self._complaint(
                [replace(s, rows=max(s.rows, round(least))) for s in self._failing], self._rounds
            )

        found = _smallest(fits, min(size.rows for size in self._failing), _MOST_ROWS)
        if found is None:
            return ""
        rows, total = round(found), sum(size.rows for size in self._sizes)
        if rows * len(self._sizes) <= total:
            return f"data.min_rows = {rows}"
        return f"{_rows(rows)} per agent (there are {total:,} in all: enough for {total // rows or 'no'} agents)"

    def _larger_eta(self) -> str:
        eta = getattr(self._method, "eta", None)
        if not isinstance(eta, float):
            return ""

        def fits(value: float) -> bool:
            return not self._complaint(self._failing, self._rounds, self._method.model_copy(update={"eta": value}))

        found = _smallest(fits, eta, _LARGEST_FACTOR * eta)
        return "" if found is None else f"algorithm.eta = {found:.3g}"


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def _smallest(fits: Callable[[float], bool], low: float, most: float) -> float | None:
    """A value above `low` that fits, at most 2 % above the smallest one; None if there is none up to `most`."""
    high = low
    while not fits(high):
        low, high = high, 2.0 * high
        if high > most:
            return None
    while high > _STEP * low:
        middle = float(f"{(low * high) ** 0.5:.3g}")
        if not low < middle < high:
            break
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
