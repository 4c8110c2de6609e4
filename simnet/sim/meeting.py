"""The oracle of ideal pacing: agents wait here until all who are up have come and nothing is on its way.

An agent that has missed meetings while it was down passes as many at once; the others wait until it is back.
"""

from __future__ import annotations

from collections.abc import Callable

from simnet.sim.sim_events import Waiting


class Meeting:
    """Meetings of `agents`, one after another; `quiet` says whether nothing is on its way, `up` who can come."""

    def __init__(
        self, signal: Callable[[], Waiting], agents: int, quiet: Callable[[], bool], up: Callable[[int], bool]
    ) -> None:
        self._signal = signal
        self._quiet, self._up = quiet, up
        self._expected = agents
        self._there: dict[int, Waiting] = {}
        self._held = 0
        self._visits = [0] * agents

    def join(self, agent: int) -> Waiting:
        """An agent has come; what it waits for."""
        signal = self._signal()
        self._visits[agent] += 1
        if self._visits[agent] <= self._held:
            signal.succeed()
            return signal
        self._there[agent] = signal
        self.hold()
        return signal

    def expect(self, change: int) -> None:
        """So many more (or fewer) agents come from now on."""
        self._expected += change
        self.hold()

    def rejoin(self, agent: int) -> None:
        """An agent is up again; a meeting that it waited for and that was held without it is over."""
        if agent in self._there and self._visits[agent] <= self._held:
            self._there.pop(agent).succeed()
        self.expect(+1)

    def hold(self) -> None:
        """Let the meeting happen if everybody is there."""
        if not self._there or len(self._there) < self._expected or not self._quiet():
            return
        present = [agent for agent in self._there if self._up(agent)]
        if present and len(present) == self._expected:
            self._held += 1
            for agent in present:
                self._there.pop(agent).succeed()
