"""Whatever the network is like and whatever breaks: the run ends by itself, and no law is broken.

Eighty networks, the same every time. Five hundred new ones:

    HYPOTHESIS_PROFILE=explore python -m pytest tests/sim/test_random_networks.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, reject, settings
from hypothesis import strategies as st

from simnet import Result, Scenario, ScenarioError, run
from simnet.agent.pacing import ALIGNED
from simnet.record.verify import replay, verify
from tests.conftest import PROFILE
from tests.sim.reference_engine import reference_digest

HERE = Path(__file__).parent
SECONDS = st.sampled_from([0.001, 0.02, 0.05, 0.3])
LATENCIES = st.one_of(
    st.sampled_from([0.0, 0.01, 0.3]),
    st.just({"kind": "uniform", "low": 0.0, "high": 0.1}),
    st.just({"kind": "normal", "mean": 0.02, "std": 0.02}),
    st.just({"kind": "lognormal", "median": 0.05, "sigma": 1.0}),
    st.just({"kind": "gamma", "mean": 0.05, "shape": 0.5}),
    st.just({"kind": "pareto", "scale": 0.01, "alpha": 1.2}),
    st.just({"kind": "empirical", "file": str(HERE / "delays.csv")}),
)
WORK = st.one_of(st.sampled_from([0.0, 0.01]), LATENCIES)
BEGIN = st.sampled_from(["start", "anywhere"])
RATES = st.one_of(
    st.sampled_from([1e3, 1e5, 1e7]),
    st.builds(lambda begin: {"kind": "mahimahi", "file": str(HERE / "cell.txt"), "begin": begin}, BEGIN),
    st.builds(
        lambda begin: {"kind": "steps", "file": str(HERE / "steps.csv"), "unit": "kbit/s", "begin": begin}, BEGIN
    ),
)
LOSSES = st.one_of(
    st.sampled_from([0.0, 0.2, 1.0]),
    st.just({"kind": "bursts", "rate": 0.3, "length": 4}),
    st.just({"kind": "trace", "file": str(HERE / "fates.txt")}),
    st.just({"kind": "gilbert-elliott", "p_good_to_bad": 0.1, "p_bad_to_good": 0.3, "loss_good": 0.05}),
)
LINKS = st.fixed_dictionaries(
    {},
    optional={
        "preset": st.sampled_from(["lan", "wan", "4g", "satellite", "lorawan", "congested-wifi"]),
        "latency": LATENCIES | st.just({"kind": "trace", "file": str(HERE / "delay_trace.csv")}),
        "loss": LOSSES,
        "queue": st.one_of(
            st.integers(0, 4),
            st.just({"limit": 200, "unit": "bytes"}),
            st.just({"limit": 5, "red": {"low": 1, "high": 3, "chance": 0.5, "weight": 0.5}}),
        ),
        "order": st.sampled_from(["free", "fifo"]),
        "duplication": st.sampled_from([0.0, 0.5]),
        "corruption": st.sampled_from([0.0, 0.3]),
    },
)
PACES = st.one_of(
    st.sampled_from(["ideal", "barrier", "quorum", "free"]),
    st.just({"kind": "barrier", "patience": 0.05, "notices": False}),
    st.just({"kind": "quorum", "quorum": 1.0, "max_staleness": 0, "patience": 0.2}),
    st.just({"kind": "deadline", "period": 0.1, "skew": 0.3, "jitter": 0.02}),
    st.just({"kind": "deadline", "period": 0.01, "notices": True}),
)
# Between two faults there is time for some work: where there is hardly any, a run takes half a million faults, and one
# such run (`HARDLY_EVER_UP`) tells what there is to tell.
PAUSES = st.sampled_from([0.02, 0.05, 0.3])
TIMES = st.one_of(
    st.fixed_dictionaries({"at": SECONDS}, optional={"duration": SECONDS}),
    st.fixed_dictionaries({"every": PAUSES, "duration": SECONDS}),
)
AGENTS = st.integers(0, 3)
STATES = st.sampled_from(["kept", "lost"])


def fault(kind: str, **fields: st.SearchStrategy) -> st.SearchStrategy:
    """A fault of this kind at any time."""
    rest = st.fixed_dictionaries({"kind": st.just(kind), **fields})
    return st.tuples(rest, TIMES).map(lambda both: both[0] | both[1])


FAULTS = st.one_of(
    fault("crash", agent=AGENTS, state=STATES),
    fault("link-down", link=st.sampled_from([[0, 1], [2, 3]])),
    fault("partition", agents=st.sampled_from([[0], [0, 1]])),
    fault("straggler", agent=AGENTS, factor=st.sampled_from([0.1, 5.0])),
    st.fixed_dictionaries({"kind": st.just("churn"), "up": PAUSES, "down": SECONDS, "state": STATES}),
    st.fixed_dictionaries(
        {"kind": st.just("availability"), "file": st.just(str(HERE / "up.csv")), "state": STATES},
        optional={"period": st.just(0.3)},
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("contacts"),
            "file": st.just(str(HERE / "contacts.csv")),
            "others": st.sampled_from(["up", "down"]),
        },
        optional={"period": st.just(0.4)},
    ),
)
CHANNELS = st.sampled_from(
    [
        {"kind": "tdma", "rate": 1e5, "slot": 0.008},
        {"kind": "aloha", "rate": 1e5},
        {"kind": "slotted-aloha", "rate": 1e5, "slot": 0.02, "queue": 2},
        {"kind": "csma"},
        {"kind": "csma", "attempts": 2, "cw_min": 1, "queue": 1},
        {"kind": "lora"},
        {"kind": "lora", "duty_cycle": 0.5, "queue": 3},
    ]
)
OVERRIDES = st.sampled_from(
    [
        {"region": [0, 1, 2], "loss": 0.5},
        {"region": [0, 1], "across": [2, 3], "latency": 0.1},
        {"agent": 3, "bandwidth": 1e4},
        {"link": [0, 1], "preset": "lan"},
        {"from": 2, "to": 3, "loss": 1.0},
    ]
)
PRICES = st.fixed_dictionaries(
    {name: st.sampled_from([0.0, 2.0]) for name in ("per_byte", "per_message", "per_second")}
)
METHODS = st.sampled_from(
    [
        {"name": "admm", "eta": 0.05},
        {"name": "pp-admm", "eta": 0.05},
        {"name": "ipp-admm", "eta": 0.05, "max_releases": 2, "threshold": 0.0, "clip": 2.0},
    ]
)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Small scenarios over everything that a network can be, each thing on in some and off in others."""
    algorithm = draw(METHODS) | {"duals": draw(st.sampled_from(["node", "healing", "edge"]))}
    topology = draw(st.sampled_from([{"kind": "ring"}, {"kind": "geometric", "radius": 1.5}])) | {"agents": 4}
    network = draw(st.sampled_from([on_lines, on_lines, on_air, on_routes]).flatmap(lambda kind: kind()))
    algorithm["heal_every"] = 1 if network["codec"] == "top-k" else draw(st.integers(1, 3))
    # A radius that reaches everywhere: the faults name links.
    if topology["kind"] == "geometric" and draw(st.booleans()) and "underlay" not in network:
        network["link"] |= {"latency": {"kind": "distance", "per_unit": 0.1, "base": 0.01}}
    if algorithm["duals"] == "edge":
        network["medium"] = "unicast"
    pace = network["pacing"]
    in_lock_step = pace == "barrier" or (isinstance(pace, dict) and pace["kind"] == "barrier")
    if draw(st.booleans()) and network["medium"] == "unicast" and network["codec"] != "top-k" and not in_lock_step:
        network["peers"] = draw(st.integers(1, 2))
    until = draw(st.sampled_from([None, None, 0.1, 0.5]))
    return Scenario.of(
        {
            "seed": draw(st.integers(0, 99)),
            "rounds": draw(st.integers(1, 5)),
            **({} if until is None else {"until": until}),
            "data": {"source": "synthetic", "rows": 100, "train": 80, "features": 2},
            "topology": topology,
            "algorithm": algorithm,
            "privacy": {"epsilon": 50.0},
            "network": network,
            "compute": {
                "time": draw(WORK),
                # Under a deadline it would fix the times of messages, which work that takes too long breaks.
                "per_gradient": draw(st.sampled_from([0.0] if "period" in network["pacing"] else [0.0, 0.001])),
            },
            "fault": draw(st.lists(FAULTS, max_size=3)),
            "cost": draw(st.one_of(st.just({}), st.fixed_dictionaries({"energy": PRICES, "money": PRICES}))),
        }
    )


@st.composite
def common(draw: st.DrawFn) -> dict[str, Any]:
    """What a network has whatever carries its messages."""
    topk = {"share": draw(st.sampled_from([0.1, 0.5, 1.0])), "values": draw(st.sampled_from(["float64", "int8"]))}
    return {
        "pacing": draw(PACES),
        "medium": draw(st.sampled_from(["unicast", "shared"])),
        "codec": draw(st.sampled_from(["float64", "float32", "float16", "int8", "top-k"])),
        "topk": topk,
        "recovery": draw(SECONDS),
        "inbox": draw(st.sampled_from([{}, {"service": 0.01, "capacity": 1}])),
        "link": draw(LINKS),
        "override": draw(st.lists(OVERRIDES, max_size=2)),
    }


@st.composite
def on_air(draw: st.DrawFn) -> dict[str, Any]:
    """Agents that share a channel: there are no lines and no transport."""
    network = draw(common()) | {"channel": draw(CHANNELS)}
    for name in ("preset", "queue"):
        network["link"].pop(name, None)
    network["override"] = [each for each in network["override"] if not {"bandwidth", "preset"} & each.keys()]
    return network


@st.composite
def on_lines(draw: st.DrawFn) -> dict[str, Any]:
    """Agents with lines of their own."""
    network = draw(common())
    stream = {"kind": "reliable", "timeout": 0.05, "attempts": 3}
    transport = draw(st.sampled_from(["datagram", stream, stream | {"timeout": 1.0, "buffer": 100}]))
    rate, link = draw(st.none() | RATES), network["link"]
    if rate is not None:
        link["bandwidth"] = rate
    small = 40 if transport == "datagram" else 64  # a reliable transport adds 24 bytes to every packet
    link |= draw(st.sampled_from([{}, {"mtu": small, "overhead": 20}, {"mtu": 200}]))
    if link.get("mtu") == 40 and link.get("queue") in (0, 1):
        link["queue"] = 2  # a model has three packets: with less room none would ever arrive, which is refused
    if isinstance(link.get("bandwidth"), dict) and link.get("queue") in (0, 1, 2):
        link["queue"] = 3  # on a line by a trace the first packet waits too
    sides = st.fixed_dictionaries({"bandwidth": st.just(1e6) | RATES}, optional={"queue": st.integers(3, 6)})
    uplink = draw(st.sampled_from([None, "independent", "shared"]))
    if any("bandwidth" in each or "preset" in each for each in network["override"]):  # one line out cannot be two
        uplink, network["medium"] = "independent", "unicast"
    if transport != "datagram":
        network["medium"] = "unicast"
    return network | {
        "transport": transport,
        "line": draw(st.fixed_dictionaries({}, optional={"up": sides, "down": sides})),
        **({} if uplink is None else {"uplink": uplink}),
    }


@st.composite
def on_routes(draw: st.DrawFn) -> dict[str, Any]:
    """Agents on a physical network: links of the topology have nothing of their own."""
    lines = draw(on_lines())
    link = {name: value for name, value in lines["link"].items() if name != "duplication"}
    if link.get("preset") == "congested-wifi":  # duplicates
        link["duplication"] = 0.0
    return lines | {
        "link": {},
        "override": [],
        "line": {},
        "uplink": "independent",
        "medium": "unicast",
        "underlay": {
            "graph": draw(st.sampled_from([{"kind": "ring"}, {"kind": "star"}, {"kind": "complete"}])) | {"agents": 5},
            "link": link,
            "attach": draw(st.sampled_from(["in-order", "random", "spread", [4, 4, 0, 1]])),
            "routing": draw(st.sampled_from(["delay", "hops"])),
        },
    }


HARDLY_EVER_UP = Scenario.of(
    {
        "rounds": 3,
        "data": {"source": "synthetic", "rows": 100, "train": 80, "features": 2},
        "topology": {"kind": "ring", "agents": 4},
        "algorithm": {"name": "admm", "eta": 0.05},
        "network": {"pacing": {"kind": "deadline", "period": 0.01, "notices": True}},
        "compute": {"time": 0.005},
        "fault": [{"kind": "churn", "up": 0.001, "down": 0.02, "state": "lost"}] * 2,
    }
)


@given(scenarios())
@example(HARDLY_EVER_UP)
@settings(max_examples=500 if PROFILE == "explore" else 80, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_network_breaks_a_law_hangs_a_run_or_leaves_the_specification(tmp_path_factory, scenario: Scenario):
    try:
        result = run(scenario, tmp_path_factory.mktemp("run"))
    except ScenarioError as error:
        if "no value would ever arrive" not in str(error):
            raise
        reject()
    for report in (verify(result.folder, ALIGNED), replay(result.folder)):
        assert report.findings == ()
        assert report.digest == result.digest
    conserved(result)
    last = result.summary["last_rounds"]
    assert last == result.agents["rounds"].to_list()
    assert len(last) == 4
    assert all(0 <= each <= scenario.rounds for each in last)
    if scenario.until is None:
        assert all(each == scenario.rounds for agent, each in enumerate(last) if agent not in gone(scenario))
    else:
        assert result.summary["time"]["simulated"] <= scenario.until
    assert ("cost" in result.summary) == (scenario.cost.energy is not None)
    assert run(scenario).digest == result.digest
    if scenario.network.underlay is None:  # the reference engine routes nothing
        assert reference_digest(scenario) == result.digest


def conserved(result: Result) -> None:
    """Every message meets one fate, and no more leaves a host than was handed to it."""
    met = result.summary["communication"]
    assert met["wire_bytes"] <= met["offered_bytes"]
    fates = ("delivered", "lost", "overflowed", "unreachable", "in_flight")
    assert met["messages"] == sum(met[fate] for fate in fates)
    assert min(met[fate] for fate in fates) >= 0


def gone(scenario: Scenario) -> set[int]:
    """The agents that may be down for good before their last round."""
    found: set[int] = set()
    for fault in scenario.fault:
        if fault.kind == "crash" and fault.at is not None and fault.duration is None:
            found.add(fault.agent)
        if fault.kind == "availability" and fault.period is None:
            found |= {0, 2}
    return found
