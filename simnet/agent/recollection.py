"""What one agent keeps of models that were released, for its outputs: the last few of each agent it learns of."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np

from simnet.agent.outputs import Learnt, Output
from simnet.errors import ScenarioError
from simnet.methods.peer import Known, Peer, Told
from simnet.vectors import Parts, Vector

Windows = dict[int, deque[Told]]


class Recollection:
    """The last releases of the agent itself, of its neighbours, and of all others if its method floods.

    It is part of the agent: a crash that takes the agent's state takes its memory of its own releases. What was heard
    from others stays, as it does for the method. No slots: a live agent's checkpoint keeps what is in `__dict__`.
    """

    def __init__(self, outputs: Sequence[Output]) -> None:
        self._outputs = outputs
        self._kept = max((output.window for output in outputs), default=0)
        self._floods = any(output.reach == "everybody" for output in outputs)
        self._own: deque[Told] = deque(maxlen=self._kept)
        self._heard: Windows = {}
        self._learnt: Windows = {}

    def forget(self) -> None:
        """The agent has lost its state."""
        self._own.clear()

    def models(self, t: int, peer: Peer, sent: Parts | None, known: Sequence[Known]) -> tuple[Vector, ...]:
        """The model of each output at the end of round t, whose messages the peer has absorbed."""
        if not self._outputs:
            return ()
        length = len(peer.theta)
        own = peer.own_model(t, sent, known)
        if own is not None:
            _keep(self._own, own, length)
        for value in known:
            model = peer.model_heard(value) if value.round else None
            if model is not None:
                _keep(self._window(self._heard, value.peer), Told(value.round, model), length)
        for origin, told in peer.known_models().items() if self._floods else ():
            _keep(self._window(self._learnt, origin), told, length)
        return tuple(self._model(output, peer.theta) for output in self._outputs)

    def _window(self, windows: Windows, agent: int) -> deque[Told]:
        if agent not in windows:
            windows[agent] = deque(maxlen=self._kept)
        return windows[agent]

    def _model(self, output: Output, last: Vector) -> Vector:
        far, near = output.reach == "everybody", output.reach != "own"
        learnt = Learnt(
            _fixed(last),
            _end(self._own, output.window),
            _ends(self._heard if near else {}, output.window),
            _ends(self._learnt if far else {}, output.window),
        )
        found = np.asarray(output.model(learnt))
        if found.shape != last.shape or found.dtype.kind != "f":
            raise ScenarioError(
                f"output: {output.word} gives {found.dtype.name} of shape {found.shape}, and a model is {len(last)} "
                "numbers"
            )
        return found


def _keep(window: deque[Told], told: Told, length: int) -> None:
    """Remember a release, if it is newer than those that are."""
    if told.model.shape != (length,):
        raise ScenarioError(
            f"output: a model is {length} numbers, and a message tells {told.model.shape}; the method's peers say in "
            "`own_model` and `model_heard` what models their messages tell"
        )
    if told.round > (window[-1].round if window else 0):
        window.append(Told(told.round, _fixed(told.model)))


def _end(window: deque[Told], length: int) -> Sequence[Told]:
    return tuple(window)[-length:]


def _ends(windows: Mapping[int, deque[Told]], length: int) -> dict[int, Sequence[Told]]:
    """By agent in ascending order, whoever was heard first: sums are the same then."""
    return {agent: _end(windows[agent], length) for agent in sorted(windows)}


def _fixed(model: Vector) -> Vector:
    """The same numbers in an array that nobody can change."""
    if model.flags.writeable:
        model = model.copy()
        model.flags.writeable = False
    return model
