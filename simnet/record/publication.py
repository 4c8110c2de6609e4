"""What a record is fit for, and `publish`: a record without what no mechanism has protected.

A run folder is for whoever ran it. Beside what agents released it holds figures that look at the rows without noise:
losses and objectives, gradient counts, when a solve ended, the queries of tests. To eight digits such a figure gives a
missing row away. `publish` leaves them out and seals what is left as a log of its own. The digest of the whole run does
not go with it: a hash over secrets that can be guessed tells whether a guess is right.

`publish` cannot take noise from the seed out of a record. The times of messages come from that seed too, so the seed
can be searched even if it is not told, and then all noise can be taken off.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import tomli_w
from msgspec.structs import replace

from simnet.errors import LogError
from simnet.record import events
from simnet.record.fitness import FROM_SECRET, OF_PUBLIC_ROWS, PUBLISHED
from simnet.record.folder import RunFolder
from simnet.record.log import read
from simnet.record.log_writer import LogWriter
from simnet.record.metrics import Metrics
from simnet.record.thinning import refuse_thinned
from simnet.record.verify import Accept, anything, feed, figures


def _evaluation(event: events.EvaluationDone) -> events.EvaluationDone:
    return replace(event, train_loss=None, objective=None, agent_train_loss=None)


def _test(event: events.SvtTested) -> events.SvtTested:
    return replace(event, query=None)


def _whole(event: events.Event) -> events.Event:
    return event


def _nothing(event: events.Event) -> None:
    return None


_MADE_OF: dict[type[events.Event], Callable[[Any], events.Event | None]] = {
    **dict.fromkeys((events.RoundStarted, events.DualUpdated, events.RoundTimeout, events.ValueUsed), _whole),
    **dict.fromkeys((events.ReleaseMade, events.PrivacySpent, events.BroadcastSent, events.BroadcastSkipped), _whole),
    **dict.fromkeys(
        (events.MessageSent, events.MessageRetransmitted, events.MessageDuplicated, events.PacketsSent), _whole
    ),
    **dict.fromkeys((*events.FATES, events.ReportsGathered, events.AirUsed, events.UnderlayLink), _whole),
    **dict.fromkeys((events.FaultBegan, events.FaultEnded, events.RunFinished), _whole),
    events.EvaluationDone: _evaluation,
    events.SvtTested: _test,
    # When a solve ended, and after how many gradients, depends on the rows.
    events.SolveFinished: _nothing,
    # How many segments a socket made of its bytes depends on when they came.
    events.SocketsCounted: _nothing,
}
"""What a published record holds of each kind of event. A kind that is not here is refused: somebody has to decide."""


def publish(run: Path, out: Path, *, public_rows: bool = False, accept: Accept = anything) -> Path:
    """Write a record of `run` that may be given away, as a run folder of its own under `out`.

    Args:
        run: a run folder or a log.
        out: where the folder goes.
        public_rows: nothing has to be protected; without it, noise from the seed, a caveat or an infinite ε is a reason
            to refuse. The record then says that nothing in it protects its rows.
        accept: looks at the first line, and may refuse it.
    """
    recorded = read(run)
    _, t, start = next(recorded)
    assert isinstance(start, events.RunStarted)
    accept(start)
    first = _first(start, run, public_rows=public_rows)
    metrics, number = Metrics(), 1
    with RunFolder(out, str(start.scenario["name"])) as folder:
        writer = LogWriter(folder.log)
        for each in (writer, metrics):
            feed(each, number, t, first)
        for _, t, event in recorded:
            if type(event) not in _MADE_OF:
                raise LogError(f"{event.kind}: nobody has said what a published record may hold of it")
            told = _MADE_OF[type(event)](event)
            if told is not None:
                number += 1
                for each in (writer, metrics):
                    feed(each, number, t, told)
        writer.close()
        summary, agents = figures(metrics, writer.digest)
        if not public_rows:
            _refuse_what_no_proof_covers(summary["privacy"], run)
        text = tomli_w.dumps(first.scenario)
        return folder.commit(writer.digest, text, metrics.rounds, [*agents], summary)


def _first(start: events.RunStarted, run: Path, *, public_rows: bool) -> events.RunStarted:
    """The first line of the record that may be given away; LogError if there can be none."""
    if start.published:
        raise LogError(f"{run} is a published record already")
    if not start.fit:
        raise LogError(f"{run} does not say where its noise comes from: run its scenario again with this simnet")
    if start.fit != FROM_SECRET and not public_rows:
        raise LogError(
            f"{run} is {start.fit}; run it with privacy.noise = 'fresh', or say --public-rows if its rows are no secret"
        )
    refuse_thinned(start)  # charges that it does not hold would seem never to have been made
    scenario: dict[str, Any] = deepcopy(start.scenario)
    scenario.get("log", {}).pop("private", None)
    fit = OF_PUBLIC_ROWS if public_rows else PUBLISHED
    # Who knows all rows but one can try every value of that one against a hash.
    data, prepared = (start.data, start.prepared) if public_rows else ({}, {})
    return replace(start, private=False, published=True, fit=fit, scenario=scenario, data=data, prepared=prepared)


def _refuse_what_no_proof_covers(privacy: dict[str, Any], run: Path) -> None:
    """LogError if a summary says of itself that its ε is none, or that it does not cover something."""
    doubts = list(privacy["caveats"])
    if privacy["proven_epsilon"] is None:
        declared = privacy.get("declared_epsilon")
        said = "privacy.calibration = 'proven' finds one" if declared is None else f"ε = {declared:g} is only declared"
        doubts.append(f"no finite ε is proven of its noise ({said})")
    for doubt in doubts:
        raise LogError(f"{run}: {doubt}; change that, or say --public-rows if its rows are no secret")
