"""`run(scenario)`: build the world, let it happen, keep the record."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, BinaryIO, overload

import numpy as np
from threadpoolctl import threadpool_limits

from simnet.agent.neighbourhood import Neighbourhood
from simnet.agent.outputs import headline
from simnet.agent.program import PROGRAMS
from simnet.agent.recollection import Recollection
from simnet.agent.row_reports import after_reports
from simnet.allowance import Allowance
from simnet.build import World, build, build_engine, build_port, cautions
from simnet.diagnostics import tell
from simnet.errors import LogError, ScenarioError, ScenarioWarning
from simnet.learning.evaluation import Evaluator, Scoreboard
from simnet.learning.task import Task
from simnet.methods import METHODS
from simnet.methods.peer import Peer
from simnet.network.topology import agent_names
from simnet.record import events, fitness
from simnet.record.bus import Bus, Subscriber
from simnet.record.folder import RunFolder
from simnet.record.formats import caveats_html, summary_html, table_html, told_of
from simnet.record.log import LogWriter, read
from simnet.record.metrics import Metrics, Row
from simnet.record.observed import Observed
from simnet.record.thinning import Thinned
from simnet.scenario import Scenario
from simnet.scenario.extremes import within_numbers
from simnet.scenario.inputs import hashes, named_files, row_files
from simnet.scenario.sizes import estimate
from simnet.sim.engine import VirtualEngine
from simnet.sim.faults import happenings, schedule
from simnet.sim.memory import gc_paused
from simnet.sim.shared_solves import SharedSolves, sharing
from simnet.sim.workers import cores
from simnet.streams import Streams
from simnet.version import VERSION

if TYPE_CHECKING:
    import polars as pl

_OWN = 1e9
"""Megabytes that a run's own log may take: it comes from no stranger."""

Progress = Callable[[int, int], None]
"""Called with (rounds finished, rounds in all)."""

_LONG = 600.0
"""Seconds of computing of which the user is told before."""
_WORTH_SHARING = 1.0
"""Estimated seconds of computing from which a run takes all cores unless it is told how many."""


@dataclass(frozen=True)
class Control:
    """What `method`, which never skips, had reached when a run `of` a method with a test ended.

    `same_bytes` is its last evaluated round with no more bytes on the wire, `same_time` that which was no later; None
    if there is none. Its noise is that of a whole run, so it has spent less ε there.
    """

    of: str
    method: str
    same_bytes: Row | None
    same_time: Row | None


Attachment = Callable[[VirtualEngine], Generator[Any, Any, Any] | None]
"""A user's own part of a run: it may return a SimPy process, or only register with `engine.env`."""


class Result:
    """What a run of `scenario` gives.

    `summary` is summary.json, `rounds` and `agents` are its tables as data frames, `log` is the event log: a path once
    the run is stored, its bytes otherwise. `folder` is None unless the run was asked to store itself.
    """

    def __init__(
        self,
        scenario: Scenario,
        summary: dict[str, Any],
        rounds: Sequence[Row],
        agents: Sequence[Row],
        log: Path | bytes,
        folder: Path | None = None,
    ) -> None:
        self.scenario, self.summary, self.log, self.folder = scenario, summary, log, folder
        self._rounds, self._agents = rounds, agents

    @cached_property
    def rounds(self) -> pl.DataFrame:
        """One row per evaluated round, with the columns of rounds.csv."""
        from simnet.record.data_frames import data_frame

        return data_frame(self._rounds, {})

    @cached_property
    def agents(self) -> pl.DataFrame:
        """One row per agent, with the columns of agents.csv."""
        from simnet.record.data_frames import data_frame

        return data_frame(self._agents, {})

    @property
    def events(self) -> Iterator[tuple[int, float, events.Event]]:
        """The event stream, as (seq, t, event), read from the log and checked on the way."""
        return read(self.log, Allowance(LogError, _OWN))

    @property
    def digest(self) -> str:
        return str(self.summary["digest"])

    @property
    def headline(self) -> Row:
        """The figures by which methods are compared."""
        told = self.summary
        return {
            "method": told["algorithm"],
            "test_error": told["accuracy"]["test_error"],
            "train_loss": told["accuracy"]["train_loss"],
            "claimed_epsilon": told["privacy"]["claimed_epsilon"],
            "proven_epsilon": told["privacy"]["proven_epsilon"],
            "broadcasts": told["communication"]["broadcasts"],
            "messages": told["communication"]["messages"],
            "wire_bytes": told["communication"]["wire_bytes"],
            "simulated": told["time"]["simulated"],
        }

    def __repr__(self) -> str:
        return f"Result({self.summary['scenario']!r}, {told_of(self.headline)}, digest={self.digest[:12]!r})"

    def _repr_html_(self) -> str:
        return summary_html(self.summary)


class Comparison(Sequence[Result]):
    """The results of several methods; `refused` says of the others, by name, why they could not run."""

    def __init__(self, results: Sequence[Result], refused: Mapping[str, str]) -> None:
        self._results, self.refused = tuple(results), dict(refused)

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, place: int) -> Result: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Result]: ...
    def __getitem__(self, place: int | slice) -> Result | Sequence[Result]:
        return self._results[place]

    def frame(self) -> pl.DataFrame:
        """One row per method that ran."""
        from simnet.record.data_frames import data_frame

        return data_frame([result.headline for result in self], {})

    @property
    def caveats(self) -> list[str]:
        """What the proven ε of some of them does not cover."""
        told = (result.summary["privacy"] for result in self)
        known = (each.get("caveats", ()) for each in told if each["proven_epsilon"] is not None)
        return [*dict.fromkeys(caveat for caveats in known for caveat in caveats)]

    def __repr__(self) -> str:
        lines = [told_of(result.headline) for result in self]
        return "\n".join([*lines, *(f"{name} cannot run here: {why}" for name, why in self.refused.items())])

    def _repr_html_(self) -> str:
        refused = [{"method": name, "why": why} for name, why in self.refused.items()]
        name = self[0].summary["scenario"]
        table = table_html(name, [result.headline for result in self])
        return table + caveats_html(self.caveats) + table_html("Cannot run here", refused)


def run(
    scenario: Scenario,
    out: str | Path | None = None,
    *,
    progress: Progress | None = None,
    attach: Sequence[Attachment] = (),
    workers: int | None = None,
) -> Result:
    """Simulate a scenario. A `ScenarioWarning` says what its author should know before.

    Args:
        scenario: what to simulate.
        out: where run folders go; None keeps everything in memory.
        progress: told after every evaluated round.
        attach: the user's own SimPy processes, such as cross traffic; the log names them.
        workers: processes that the run may take; default: one per core, if it is long enough to pay. Nothing that a run
            gives depends on it.

    >>> from simnet import Scenario, run
    >>> quick = {"data": {"source": "synthetic"}, "algorithm": {"name": "admm"}, "rounds": 2}
    >>> run(Scenario.of(quick)).summary["communication"]["broadcasts"]
    10
    """
    if isinstance(scenario, str | Path):
        raise ScenarioError(f"scenario = {scenario!r}: run takes a Scenario, such as Scenario.load('file.toml')")
    if workers is not None and (not isinstance(workers, int) or workers < 1):
        raise ScenarioError(f"workers = {workers!r}: a whole number of processes, 1 or more")
    if attach and scenario.privacy.noise == "key":
        raise ScenarioError(
            "privacy.noise = 'key': noise is drawn from the scenario, which does not hold your own processes, so two "
            "such runs could share it; choose 'fresh'"
        )
    started, needed = perf_counter(), estimate(scenario)
    if needed.time > _LONG:
        warnings.warn(f"the run needs {needed}, by a rough estimate", ScenarioWarning, stacklevel=2)
    built = build(scenario)
    tell(
        "world built",
        scenario=scenario.name,
        method=scenario.algorithm.name,
        agents=built.agents,
        links=built.graph.number_of_edges(),
        rows=sum(built.learning.rows),
        seconds=round(perf_counter() - started, 3),
    )
    for sentence in cautions(built):
        warnings.warn(sentence, ScenarioWarning, stacklevel=2)
    if workers is None:
        workers = cores() if needed.time > _WORTH_SHARING else 1
    # An error of the user's own processes is theirs.
    with nullcontext() if attach else within_numbers(scenario):
        return keep(built, out, lambda bus: play(built, bus, attach=attach, workers=workers), progress=progress)


def keep(
    built: World, out: str | Path | None, happen: Callable[[Bus], None], *, progress: Progress | None = None
) -> Result:
    """Let a run of a world happen on a bus, and keep its record: in a run folder under `out`, or in memory.

    The summary also has the yardsticks of the world, which are no part of the run and of its log.
    """
    scenario = built.scenario
    if out is None:
        sink = io.BytesIO()
        metrics, digest, wall = record(scenario, sink, happen, progress=progress)
        summary = metrics.summary(digest, wall) | {"yardsticks": built.yardsticks().figures()}
        return Result(scenario, summary, metrics.rounds, metrics.agents, sink.getvalue())
    with RunFolder(Path(out), scenario.name) as folder:
        metrics, digest, wall = record(scenario, folder.log, happen, progress=progress)
        summary = metrics.summary(digest, wall) | {"yardsticks": built.yardsticks().figures()}
        path = folder.commit(digest, scenario.to_toml(), metrics.rounds, metrics.agents, summary)
    return Result(scenario, summary, metrics.rounds, metrics.agents, path / "events.jsonl.zst", path)


def record(
    scenario: Scenario, sink: BinaryIO, happen: Callable[[Bus], None], *, progress: Progress | None = None
) -> tuple[Metrics, str, float]:
    """Let something happen on a bus: the log goes to `sink`; metrics, digest and wall seconds come back.

    One BLAS thread: agents are small, and workers must not fight.
    """
    metrics, writer = Metrics(), LogWriter(sink)
    thinning = scenario.log.thinning(scenario.seed)
    subscribers: list[Subscriber] = [writer if thinning is None else Thinned(writer, thinning), metrics]
    if scenario.privacy.observers:
        metrics.observed = Observed()
        subscribers.append(metrics.observed)
    if progress is not None:
        subscribers.append(_watcher(progress, scenario.rounds))
    started = perf_counter()
    with threadpool_limits(1):
        happen(Bus(*subscribers))
    writer.close()
    wall = perf_counter() - started
    tell("run finished", scenario=scenario.name, digest=writer.digest[:12], seconds=round(wall, 3))
    return metrics, writer.digest, wall


@gc_paused()
def play(
    built: World,
    bus: Bus,
    peers: Sequence[Peer] | None = None,
    *,
    attach: Sequence[Attachment] = (),
    workers: int = 1,
) -> None:
    """Run every agent to its last round, all events to `bus`; `peers` instead of the scenario's own if given."""
    with sharing(built.training, workers) as shared:
        assemble(built, bus, peers, attach=attach, shared=shared).run()


def assemble(
    built: World,
    bus: Bus,
    peers: Sequence[Peer] | None = None,
    *,
    attach: Sequence[Attachment] = (),
    shared: SharedSolves | None = None,
) -> VirtualEngine:
    """An engine with all agents and faults at the start of a run, which is on the record."""
    scenario, graph = built.scenario, built.graph
    streams, compute = Streams(scenario.seed), scenario.compute.read(scenario.find)
    engine = build_engine(scenario, graph, bus, scoreboard(built))
    if shared is not None:
        engine.share(shared)
    for happening in happenings(scenario.fault, graph, streams, scenario.find):
        schedule(engine, happening)
    if scenario.until is not None:
        engine.end_at(scenario.until)
    engine.emit(first_event(built, [getattr(each, "__name__", type(each).__name__) for each in attach]))
    nothing = Recollection(())  # without outputs there is nothing to remember, and all agents share it
    with ExitStack() as unbegun:  # Python warns of programs that never begin: an error closes them
        for agent, peer in zip(graph, peers_of(built) if peers is None else peers, strict=True):
            pacing = scenario.pacing.for_agent(streams, agent)
            neighbourhood = Neighbourhood(
                sorted(graph[agent]), peer.initial(), aligned=pacing.aligned, admits=peer.accepts
            )
            work = compute.for_agent(streams, agent, built.sizes[agent].rows)
            port = build_port(scenario, engine, streams, agent, neighbourhood, work)
            ledger = built.calibration.ledger(scenario.privacy.delta)
            program = partial(
                PROGRAMS[peer.role],
                peer,
                port,
                pacing,
                neighbourhood,
                ledger,
                scenario.rounds,
                private=scenario.log.private,
                recollection=Recollection(scenario.output) if scenario.output else nothing,
            )
            plan = built.calibration.plans[agent]
            if built.reporting is not None and plan is not None:
                phase = built.reporting
                program = partial(
                    after_reports, program, port, phase.reports[agent], phase.begins, plan.opening, ledger
                )
            engine.attach(port, begun := program())
            unbegun.callback(begun.close)
        for each in attach:
            process = each(engine)
            if process is not None:
                engine.env.process(process)
        unbegun.pop_all()
    return engine


def peers_of(built: World, streams: Streams | None = None) -> list[Peer]:
    """The agents' mathematics; their noise is the scenario's, or that of other streams."""
    streams = built.streams if streams is None else streams
    method, rounds = built.scenario.algorithm, built.scenario.rounds
    if method.bound is not None:
        streams = replace(streams, every=True)
    neighbours = [sorted(built.graph[agent]) for agent in built.graph]
    peers = method.peers(
        built.calibration, built.training, built.sizes, rounds, streams, built.learning.public, neighbours
    )
    _begin_at_the_start(built, peers)
    if method.silences:
        for peer in peers:
            peer.silences, peer.private_silences = tuple(method.silences), method.private_silences
    return peers


def _begin_at_the_start(built: World, peers: Sequence[Peer]) -> None:
    """Refuse peers that begin at zero where the task begins elsewhere: a network would never leave it."""
    start = built.training[0].start
    if start.any() and not all(np.array_equal(peer.theta, start) for peer in peers):
        raise ScenarioError(
            f"task: {built.scenario.learned.word} begins at a point of its own, not at zero, and "
            f"{built.scenario.algorithm.name} does not; its peer begins with `super().__init__(objective.start)`"
        )


def scoreboard(built: World) -> Scoreboard:
    """What turns the agents' states into figures, round by round."""
    test, scenario = built.learning.test, built.scenario
    names, counts = [output.called for output in scenario.output], headline(scenario.output)
    evaluator = Evaluator(built.objectives, test, scenario.learned, scenario.metric, names, counts)
    return Scoreboard(evaluator, built.agents, built.objectives[0].start, scenario.rounds, len(names))


def first_event(
    built: World, attached: Sequence[str] = (), *, live: bool = False, own: bool = False
) -> events.RunStarted:
    """What a log begins with; agents of a `live` run may each have had a noise of their `own`."""
    algorithm, caveats = built.scenario.algorithm, built.scenario.caveats(live=live)
    prepared = built.scenario.data.source.prepared(built.scenario.data, built.scenario.find)
    # Where times depend on the data, so does who has heard whom.
    linear = algorithm.linear_gaussian and built.scenario.network.codec.exact
    return events.RunStarted(
        schema=events.SCHEMA,
        version=VERSION,
        private=built.scenario.log.private,
        scenario=built.scenario.resolved(),
        edges=sorted((min(edge), max(edge)) for edge in built.graph.edges),
        rows=[objective.rows for objective in built.objectives],
        features=built.length,
        test_error_is=None if built.scenario.learned.error == Task.error else built.scenario.learned.error,
        attached=list(attached),
        names=agent_names(built.graph),
        fit=_fitness(built, own=own),
        caveats=caveats,
        noise_key=built.noise_key,
        files=hashes(named_files(built.scenario)),
        data=hashes(row_files(built.scenario)),
        prepared={} if prepared is None else prepared.counts(),
        in_step=built.scenario.network.pacing.aligned,
        linear_gaussian=linear and fitness.TIMES_TELL not in caveats,
        silences=algorithm.silences,
        foreign={part.reference: part.sha256 for part in built.scenario.foreign()},
    )


def _fitness(built: World, *, own: bool) -> str:
    """What the record of a run is fit for."""
    if not built.calibration.noisy:
        return fitness.NO_NOISE
    return fitness.FROM_SECRET if own or built.noise_key is not None else fitness.FROM_SEED


def _watcher(progress: Progress, rounds: int) -> Subscriber:
    """A subscriber that tells how far the run is."""

    def hear(seq: int, t: float, event: events.Event) -> None:
        if isinstance(event, events.EvaluationDone):
            progress(event.round, rounds)

    return hear


def method_names(text: str) -> list[str]:
    """`all`, or names separated by commas."""
    return list(METHODS) if text.strip() == "all" else [name.strip() for name in text.split(",") if name.strip()]


def compare(
    scenario: Scenario, methods: Sequence[str], out: str | Path | None = None, *, progress: Progress | None = None
) -> Comparison:
    """Run several methods on the same data, network, seed and ε; those that cannot run say why.

    ScenarioError if none of them can, or a name is no method's.
    """
    if not methods:
        raise ScenarioError(f"--methods: name at least one of {', '.join(METHODS)}")
    for name in methods:
        scenario.method(name)
    results: list[Result] = []
    refused: dict[str, ScenarioError] = {}
    for done, name in enumerate(methods):
        told = _shifted(progress, done, len(methods)) if progress else None
        try:
            results.append(run(scenario.with_method(name), out, progress=told))
        except ScenarioError as error:
            refused[name] = error
    if not results:
        raise next(iter(refused.values()))
    return Comparison(results, {name: str(error) for name, error in refused.items()})


def control(scenario: Scenario, result: Result, others: Sequence[Result] = ()) -> Control | None:
    """The same method that skips no round (`Method.control`), stopped at the bytes and at the time of a `result`.

    `scenario` is that of the comparison. The control is one of the `others`, or runs now. None for a method that names
    no control, or if the control cannot meet the budget.
    """
    method = result.scenario.algorithm
    if not method.control:
        return None
    wanted = scenario.with_method(method.control)
    other = next((each for each in others if each.scenario.resolved() == wanted.resolved()), None)
    try:
        rows = (run(wanted) if other is None else other).rounds.to_dicts()
    except ScenarioError:
        return None
    ends = {"wire_bytes": result.summary["communication"]["wire_bytes"], "t": result.summary["time"]["simulated"]}
    stops = (next((row for row in reversed(rows) if row[name] <= end), None) for name, end in ends.items())
    return Control(method.name, wanted.algorithm.name, *stops)


def _shifted(progress: Progress, done: int, runs: int) -> Progress:
    return lambda rounds, total: progress(done * total + rounds, runs * total)
