"""`simnet explain`: what a scenario means, before anything runs.

Shapes, noise scales, the budget plan and the predicted traffic follow from public numbers only: how many rows and
neighbours each agent has. The yardsticks of the test error alone look at the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

import networkx as nx
import numpy as np

from simnet.agent.neighbourhood import Neighbourhood
from simnet.agent.row_reports import Reporting
from simnet.build import (
    World,
    build,
    build_links,
    build_writer,
    directions,
    draw_underlay,
    kinds_of_links,
    late_news,
    long_period,
    longest_value,
    models_in_use,
    peer_cautions,
    unused_latency,
)
from simnet.cli import yardstick_words
from simnet.cli.realism import realism
from simnet.cli.underlay_facts import underlay_facts
from simnet.learning.dealing import DealtData
from simnet.methods.method import AgentSize, Setting
from simnet.most_traffic import most_traffic, on_wire
from simnet.network import frame
from simnet.network.delays import PERCENT, AlikeLinks, quantiles
from simnet.privacy.budget import Facts, span
from simnet.scenario import Scenario
from simnet.scenario.extremes import within_numbers
from simnet.sim.faults import happenings
from simnet.simulate import peers_of
from simnet.streams import Streams

_FEW, _MANY = 3, 10**9
"""Of more sizes of agents than these only least, median and most are told."""


def explain(scenario: Scenario, *, agents: bool = False) -> dict[str, Facts]:
    """Topic → fact → value; with `agents` the noise of each size of agent, however many there are."""
    built = build(scenario)
    with within_numbers(scenario):
        return _explained(built, _MANY if agents else _FEW)


def _explained(built: World, most: int) -> dict[str, Facts]:
    scenario = built.scenario
    build_links(scenario, built.graph)  # refuses overrides of links that do not exist
    # and faults of agents that do not
    happenings(scenario.fault, built.graph, Streams(scenario.seed), scenario.find)
    graph, learning, sizes = built.graph, built.learning, built.sizes
    kinds = kinds_of_links(built)
    return {
        "scenario": {
            "name": scenario.name,
            "method": scenario.algorithm.name,
            "rounds": scenario.rounds,
            "seed": scenario.seed,
            **_outputs(scenario),
        },
        "world": {
            "agents": len(sizes),
            "links": graph.number_of_edges(),
            "neighbours": span([size.degree for size in sizes]),
            "rows per agent": span(learning.rows),
            "test rows": learning.test.rows,
            "features": learning.features,
        },
        "data": _data(scenario),
        "local problem": _problem(built) | _graph(learning),
        **yardstick_words.facts(built.yardsticks().figures()),
        **_privacy(built, most),
        **_theory(built),
        "traffic": _traffic(built, kinds) | _reports(built.reporting),
        **_over_time(built),
        **_underlay(built),
        **_delays(built, kinds),
        "realism: what it leaves out": realism(built, kinds, longest_value(scenario, built.length)),
    }


def _outputs(scenario: Scenario) -> Facts:
    """What counts as an agent's model, where the scenario says something else than the method."""
    if not scenario.output:
        return {}
    counts = next((output.called for output in scenario.output if output.headline), "last")
    names = ", ".join(output.called for output in scenario.output)
    return {"outputs": f"{names}; test_error is of {counts}; they send nothing and charge nothing"}


def _data(scenario: Scenario) -> Facts:
    """What is done to rows before anybody learns from them, and what is taken to be public."""
    prepared = scenario.data.source.prepared(scenario.data, scenario.find)
    facts: Facts = {} if prepared is None else dict(prepared.told())
    steps = {
        "each column is divided by its largest value": scenario.data.scales_columns,
        "rows longer than 1 are shortened to norm 1": scenario.data.bounds_rows,
    }
    facts["scaling"] = "; then ".join(step for step, done in steps.items() if done) or "none: rows are as they are"
    if doubts := scenario.caveats():
        facts["ε does not cover"] = "; ".join(doubts)
    return facts


def _problem(built: World) -> Facts:
    """What an agent minimises."""
    scenario, task = built.scenario, built.scenario.learned
    facts = scenario.algorithm.problem_facts(built.sizes, built.calibration.regulariser)
    if scenario.task is None:
        return {"loss": task.word} | facts
    steepest = built.sizes[0].gradient_bound
    bound = "without bound" if steepest is None else f"at most {steepest:.4g}"
    about: Facts = {"task": task.word, "length of a model": built.length, "norm of a row's gradient": bound}
    return about | facts


def _graph(learning: DealtData) -> Facts:
    """Where a fused lasso takes its graph from."""
    if learning.public is None:
        return {}
    rows = f"{learning.public.shape[0]:,} rows without labels, which count as public: no training row, no test row"
    return {"graph of the features": rows}


def _privacy(built: World, most: int) -> dict[str, Facts]:
    privacy = built.scenario.privacy
    found = zip(built.sizes, built.calibration.plans, strict=True)
    plans = {size: plan for size, plan in found if plan is not None}
    if not plans:
        return {"privacy": {"none": f"{built.scenario.algorithm.name} releases bare models: no finite ε"}}
    topics: dict[str, Facts] = {
        "privacy": {"ε": privacy.epsilon, "δ": privacy.delta, "calibration": privacy.calibration}
    }
    noise: dict[AgentSize, Facts] = {}
    for size, plan in plans.items():
        noise[size] = plan.facts(privacy.delta)
        if built.scenario.algorithm.bound is not None:
            noise[size]["ε claimed"] = "no paper covers this"
    if len(noise) > most:
        all_of_them = [noise[size] for size in built.sizes if size in noise]
        return topics | {f"noise of {len(all_of_them)} agents: least, median, most": _spread(all_of_them)}
    for size, facts in noise.items():
        topics[f"noise of an agent with {size.rows:,} rows and {size.degree} neighbours"] = facts
    return topics


def _spread(facts: Sequence[Facts]) -> Facts:
    """The facts of many agents as the facts of all."""
    found: Facts = {}
    for name in dict.fromkeys(name for each in facts for name in each):
        values = [each[name] for each in facts if name in each]
        numbers = sorted(value for value in values if not isinstance(value, str))
        shown = [f"{each:.6g}" for each in (numbers[0], median(numbers), numbers[-1])] if numbers else []
        if len(set(values)) == 1 or len(set(shown)) == 1:
            found[name] = values[0]
        elif len(numbers) == len(values):
            found[name] = ", ".join(shown)
        else:
            counts = Counter(map(str, values)).most_common(_FEW)
            found[name] = "; ".join(f"{value} ({count} of them)" for value, count in counts)
    return found


def _theory(built: World) -> dict[str, Facts]:
    """What the method's theorems ask for, and by how much the scenario meets it."""
    scenario = built.scenario
    adjacency = nx.to_numpy_array(built.graph, nodelist=range(built.agents))
    public = built.learning.public
    setting = Setting(
        scenario.privacy, scenario.rounds, built.sizes, built.calibration, adjacency, built.length, public
    )
    words = {True: "holds", False: "does not hold", None: "comes to"}
    facts: Facts = {
        found.name: f"{words[found.holds]} ({found.margin:.4g}): {found.sentence}"
        for found in scenario.algorithm.theory(setting)
    }
    return {"theory": facts} if facts else {}


def _underlay(built: World) -> dict[str, Facts]:
    """The paths of a first value, where there is a physical network."""
    physical = draw_underlay(built.scenario, built.agents)
    if physical is None:
        return {}
    size = frame.HEADER_BYTES + _first_message(built)[0]
    transport = built.scenario.network.transport
    packets = transport.packets(size, physical.cutter.room)
    return {"underlay": underlay_facts(physical, directions(built.graph), packets, repeated=transport.repeats)}


def _reports(reporting: Reporting | None) -> Facts:
    """Rows that travel before the first round."""
    if reporting is None:
        return {}
    sent = [found for found in reporting.reports if found is not None]
    reports = sum(found.messages for found in sent)
    return {
        "reports before round 1": f"{reports:,} ({sum(found.wire_bytes for found in sent):,} bytes)",
        "of which lost": f"{reports - sum(found.delivered for found in sent):,}",
        "round 1 begins at": f"{reporting.begins:.6g} s",
    }


WAYS_OUT = {
    "channel": "the channel, which all agents share",
    "underlay": "the physical network, whose links agents share",
    "access line": "one access line per agent, and each link's own line after it",
    "shared": "shared: the links of an agent take turns on one line",
    "independent": "independent: every link has a line of its own",
}
"""What an agent's links have in common when they send."""


def _over_time(built: World) -> dict[str, Facts]:
    """What changes while the run goes on, by the files that say so."""
    scenario, facts = built.scenario, Facts()
    network, line = scenario.network, scenario.network.line
    rates = {"link": network.link.bandwidth} | {f"override.{i}": o.bandwidth for i, o in enumerate(network.override)}
    rates |= {"access": network.access.bandwidth}
    rates |= {} if network.underlay is None else {"underlay.link": network.underlay.link.bandwidth}
    rates |= {f"line.{side}": each.bandwidth for side, each in (("up", line.up), ("down", line.down)) if each}
    for place, rate in rates.items():
        if rate is not None and not isinstance(rate, float):
            facts[f"network.{place}.bandwidth"] = rate.read(scenario.find).told()
    for index, fault in enumerate(scenario.fault):
        if (told := fault.told(index, built.graph, scenario.find)) is not None:
            facts[f"fault.{index} ({fault.word})"] = told
    return {"over time": facts} if facts else {}


def _delays(built: World, kinds: Sequence[AlikeLinks]) -> dict[str, Facts]:
    """How long a value is under way: quantiles for every kind of link."""
    facts: Facts = {
        name: f"always {1e3 * found[0]:.4g} ms"
        if found[0] == found[-1]
        else ", ".join(f"{percent} % {1e3 * each:.4g} ms" for percent, each in zip(PERCENT, found, strict=True))
        for name, found in quantiles(kinds).items()
    }
    doubts = unused_latency(built) + long_period(built, kinds)
    if (late := late_news(built, kinds)) is not None:
        harm = built.scenario.algorithm.late_news
        doubts.append(late + ("" if harm is None else f": {harm}"))
    if doubts:
        facts["caution"] = "; ".join(doubts)
    return {"delays on idle lines": facts} if facts else {}


def patience_cautions(scenario: Scenario) -> list[str]:
    """What to know about agents that wait for news that may have to be sent again."""
    patience = getattr(scenario.network.pacing, "patience", None)
    found = None if patience is None else scenario.network.transport.caution(patience)
    return [] if found is None else [found]


def _first_message(built: World) -> tuple[int, int]:
    """Payload bytes and bytes on the wire of a first value, by the code that sends it."""
    sender = max(built.graph, key=lambda agent: built.graph.degree[agent])
    peer, writer = peers_of(built)[sender], build_writer(built.scenario, sender)
    neighbours, model = sorted(built.graph[sender]), np.zeros(built.length)
    letters = peer.letters(model, neighbours)
    if letters is not None:
        payload = writer.letter(neighbours[0], letters[neighbours[0]])
    else:
        known = Neighbourhood(neighbours, peer.initial(), aligned=True).known
        payload, _ = writer.model(model, lambda decoded: peer.accompany(1, decoded, known))
    lines = models_in_use(built)
    link = lines.get((sender, neighbours[0])) or next(iter(lines.values()))
    return len(payload), on_wire(built.scenario, link, frame.HEADER_BYTES + len(payload))


def _traffic(built: World, kinds: Sequence[AlikeLinks]) -> Facts:
    scenario, network = built.scenario, built.scenario.network
    payload, message = _first_message(built)
    most = most_traffic(built)
    bound = f"{most.wire_bytes:,} for values sent once; notices and answers come on top"
    if network.transport.repeats:
        bound += ", and no bound holds for repetitions and acknowledgements"
    facts: Facts = {
        "bytes per message": f"{message:,} ({payload:,} payload)",
        "messages at most": f"{most.messages:,} ({most.releases} releases per agent)",
        "bytes at most": bound,
        "pacing": network.pacing.word,
        "uplink": WAYS_OUT[network.way_out],
    }
    if cautions := peer_cautions(built) + patience_cautions(scenario):
        facts["caution"] = "; ".join(cautions)
    if any(kind.model.bandwidth is not None for kind in kinds):
        facts["time to send one"] = f"{1e3 * max(kind.sending for kind in kinds):.3g} ms"
    if network.channel is not None:
        facts |= {"channel": network.channel.word, "time on air": f"{1e3 * max(kind.sending for kind in kinds):.4g} ms"}
    return facts
