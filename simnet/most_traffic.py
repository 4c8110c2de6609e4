"""How much the values of a run can weigh at most: told before anything runs, by the code that sends them."""

from __future__ import annotations

from typing import NamedTuple

from simnet.build import World, longest_value, models_in_use
from simnet.network.model import LinkModel
from simnet.network.queueing import Transmitter
from simnet.scenario import Scenario
from simnet.streams import Streams


class Traffic(NamedTuple):
    """Of values that are sent once; notices, answers and repetitions come on top."""

    releases: int
    """per agent"""
    messages: int
    wire_bytes: int


def most_traffic(built: World) -> Traffic:
    """The most that a world may send."""
    scenario, network = built.scenario, built.scenario.network
    size = longest_value(scenario, built.length)
    links = {id(model): model for model in models_in_use(built).values()}
    most = max(on_wire(scenario, link, size) for link in links.values())
    releases = scenario.algorithm.most_releases(scenario.rounds)
    messages = releases * sum(min(each.degree, network.peers or each.degree) for each in built.sizes)
    sent = releases * built.agents if network.medium == "shared" else messages
    return Traffic(releases, messages, sent * most)


def on_wire(scenario: Scenario, link: LinkModel, size: int) -> int:
    """The bytes of a message with all that its packets or frames add."""
    channel = scenario.network.channel
    if channel is not None:
        return sum(channel.frames(size, link.overhead))
    line = Transmitter(link, Streams(scenario.seed), "")
    return sum(line.on_wire(packet) for packet in scenario.network.transport.packets(size, line.room))
