"""What a scenario leaves out of a real network, in plain lines, each from what its parts say of themselves.

What no scenario has is in docs/network.md and not here: the traffic of other people, for example.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf

from simnet.build import World, build_links, draw_underlay, models_in_use
from simnet.network.airtime import duty_cycle_left_out
from simnet.network.delays import AlikeLinks, sending
from simnet.network.frame import HEADER_BYTES
from simnet.network.model import DUTY_CYCLED, ON_AIR, LinkModel
from simnet.privacy.budget import Facts

USUAL_PACKET = 1500
"""The largest packet of most links, which is Ethernet's."""
ENDLESS = "unlimited: nothing is dropped for want of room, and waits may grow without end"


def realism(built: World, kinds: Sequence[AlikeLinks], size: int) -> Facts:
    """Topic → what is left out of it; `size` is that of a value's frame."""
    scenario = built.scenario
    found: Facts = _links(built, size) | _lines(built, size) | _air(built, kinds)
    parts = {
        "transport": scenario.network.transport.leaves_out(_round_trip(built, kinds)),
        "pacing": scenario.network.pacing.leaves_out,
        "work": scenario.compute.leaves_out,
    }
    if scenario.network.channel is not None and built.reporting is not None:
        parts["reports"] = "rows that travel before the first round do not use the channel"
    found |= {name: sentence for name, sentence in parts.items() if sentence is not None}
    return found or {"nothing": "of what is asked for here; docs/network.md says what no scenario has"}


def _lines(built: World, size: int) -> Facts:
    """What the lines of the agent with the most neighbours do with a broadcast, by the code that sends it."""
    network, busiest = built.scenario.network, max(built.graph, key=lambda agent: built.graph.degree[agent])
    if network.channel is not None or network.underlay is not None:
        return {}
    links = [*build_links(built.scenario, built.graph)[busiest].values()]
    found: Facts = {}
    access = [line for line in (network.line.up, network.line.down) if line is not None]
    if any(line.queue is None or line.queue.limit is None for line in access):
        found["queue length"] = f"of access lines {ENDLESS}"
    if network.way_out == "independent" and len(links) > 1 and min(each.transmitter.bandwidth for each in links) < inf:
        found["uplinks"] = f"independent: an agent sends to its {len(links)} neighbours at once, each at full bit rate"
    sent = [each.admit(0.0, size) for each in (links[:1] if network.medium == "shared" else links)]
    if refused := sum(departure[4] for departure in sent):
        offered = refused + sum(departure[3] for departure in sent)
        found["queue"] = f"the sender's own queue drops {refused:,} of the {offered:,} bytes of a first broadcast"
    return found


def _air(built: World, kinds: Sequence[AlikeLinks]) -> Facts:
    """What a radio has and the scenario has not."""
    network = built.scenario.network
    most = max(size.degree for size in built.sizes)
    per_round = (1 if network.medium == "shared" else most) * max((kind.sending for kind in kinds), default=0.0)
    if network.channel is not None:
        return {**network.channel.leaves_out(per_round, network.pacing.tick)}
    found: Facts = {}
    if network.presets & ON_AIR or network.medium == "shared":
        found["contention"] = (
            "none: no transmission waits for another's or collides with it; [network.channel] has both"
        )
    return found | (duty_cycle_left_out(per_round, network.pacing.tick) if network.presets & DUTY_CYCLED else {})


def _links(built: World, size: int) -> Facts:
    """What links leave out, and how many of them if it is not all."""
    network, all_models = built.scenario.network, models_in_use(built)
    wired = network.channel is None
    alone = network.line.up is None and network.line.down is None
    by_id = {id(model): model for model in all_models.values()}
    alike = Counter(map(id, all_models.values()))
    said: Counter[tuple[str, str]] = Counter()
    for which, model in by_id.items():
        for topic, sentence in (*_line(model, size, alone=alone), *_wire(model)) if wired else _wire(model):
            said[topic, sentence] += alike[which]
    found: Facts = {}
    for (topic, sentence), links in said.items():
        some = "" if links == len(all_models) else f" ({links:,} of {len(all_models):,} links)"
        found[topic] = f"{found[topic]}; {sentence}{some}" if topic in found else sentence + some
    return found


def _line(model: LinkModel, size: int, *, alone: bool) -> Iterator[tuple[str, str]]:
    """Of a link's own line; `alone`: agents have no access lines beside it."""
    if alone and model.bandwidth is None:
        yield "bandwidth", "unlimited: a message of any size leaves at once"
    if model.bandwidth is not None and (model.queue is None or model.queue.limit is None):
        yield "queue length", ENDLESS
    if model.mtu is None and size + model.overhead > USUAL_PACKET:
        yield "packets", f"one of {size + model.overhead:,} bytes for a value; `mtu` cuts it"


def _wire(model: LinkModel) -> Iterator[tuple[str, str]]:
    """Of what comes after the line."""
    if model.overhead + model.framing == 0:
        yield "headers", "none: a packet has no byte beside its part of the message"
    for topic, sentence in (("delay", model.latency.leaves_out), ("loss", model.loss.leaves_out)):
        if sentence is not None:
            yield topic, sentence


def _round_trip(built: World, kinds: Sequence[AlikeLinks]) -> float:
    """Median seconds from a value to its acknowledgement, on the slowest links."""
    if not kinds:
        return 0.0
    slowest = kinds[0]
    if physical := draw_underlay(built.scenario, built.agents):
        sender, receiver = slowest.places[0]
        return slowest.median + physical.alone(receiver, sender, [HEADER_BYTES], roomy=True)
    answer = sending(slowest.model, built.scenario.network.line.read(built.scenario.find), HEADER_BYTES)
    return 2 * slowest.median - slowest.sending + answer
