"""Agents of different network namespaces: what the wire does to packets shows in what they measure.

Where the kernel has netem it makes the delay and the loss, otherwise those tests are skipped and say why; the others
have them made by a relay between two tun devices, which more kernels allow.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from simnet.live import run as live
from simnet.record import events
from tests.live.wan import Site, netem, stop, user_space
from tests.worlds import live_world, unlawful

DELAY = 0.03
LOSS = 0.1
COUNT = 40
ROUND_TRIP = 2 * DELAY
PATIENCE = 120

Wire = Callable[[float, float], AbstractContextManager[tuple[Site, Site]]]


@pytest.fixture(params=["kernel", "user space"])
def wire(request: pytest.FixtureRequest, tmp_path: Path) -> Wire:
    """A wire with a delay and a loss."""
    if request.param == "kernel":
        return netem

    def relayed(delay: float, loss: float) -> AbstractContextManager[tuple[Site, Site]]:
        folder = tmp_path / f"relay with {loss}"
        folder.mkdir()
        return user_space(delay, loss, folder)

    return relayed


def test_a_channel_shows_the_delay_and_the_loss_of_its_wire(deployment: Path, wire: Wire) -> None:
    clean, lossy = (_echoes(deployment, wire(DELAY, loss)) for loss in (0.0, LOSS))
    for measured in (clean, lossy):
        assert measured["rounds"] == list(range(1, COUNT + 1))
        assert measured["refusals"] == {}
        assert ROUND_TRIP <= min(measured["trips"]) < 2 * ROUND_TRIP
    lost = lossy["again"] / lossy["sent"]
    # A lost acknowledgement needs no repetition, and a busy machine sends some segments again that were only late.
    assert 0.3 * LOSS < lost < 4 * LOSS
    assert clean["again"] / clean["sent"] < 0.5 * lost
    # What was lost is sent again after two round trips at the earliest (RFC 8985, section 7.2).
    assert max(lossy["trips"]) > 2 * ROUND_TRIP


def test_a_deployment_shows_the_delay_and_the_loss_of_its_wire(deployment: Path, wire: Wire, tmp_path: Path) -> None:
    """Two `simnet agent` in lock step: no message is lost over TCP, a lost packet makes one late."""
    clean, lossy = (_deployment(deployment, wire(DELAY, loss), tmp_path / f"loss {loss}") for loss in (0.0, LOSS))
    for result in (clean, lossy):
        assert unlawful(result) == []
        assert result.summary["communication"]["delivered"] == result.summary["communication"]["messages"] == 2 * COUNT
        assert min(_latencies(result)) >= DELAY
        assert result.summary["time"]["simulated"] >= COUNT * DELAY
    assert max(_latencies(lossy)) > DELAY + 2 * ROUND_TRIP
    assert clean.summary["accuracy"] == lossy.summary["accuracy"]


def _echoes(deployment: Path, wire: AbstractContextManager[tuple[Site, Site]]) -> dict[str, Any]:
    play = ("-m", "tests.live.far_end", str(deployment))
    with wire as (here, there):
        echo = there.start(*play, "1", there.address, here.address, "7001", "0")
        ping = here.start(*play, "0", here.address, there.address, "7001", str(COUNT))
        try:
            output, _ = ping.communicate(timeout=PATIENCE)
            return json.loads(output)
        finally:
            stop(ping)
            stop(echo)


def _deployment(deployment: Path, wire: AbstractContextManager[tuple[Site, Site]], folder: Path) -> Any:
    folder.mkdir()
    agreed = live_world(rounds=COUNT, topology={"kind": "complete", "agents": 2})
    (folder / "scenario.toml").write_text(agreed.to_toml(), encoding="utf-8")
    with wire as sites:
        places = "\n".join(f'{agent} = "{site.address}:7002"' for agent, site in enumerate(sites))
        (folder / "peers.toml").write_text(f'run = "far away"\n[agents]\n{places}\n', encoding="utf-8")
        agents = [
            site.start(
                *("-c", "from simnet.cli import main; main()", "agent", str(folder / "scenario.toml")),
                *("--id", str(agent), "--peers", str(folder / "peers.toml"), "--state", str(folder / f"state-{agent}")),
                *("--certificates", str(deployment), "--listen", f"{site.address}:7002", "--noise", "scenario"),
            )
            for agent, site in enumerate(sites)
        ]
        try:
            assert [agent.wait(PATIENCE) for agent in agents] == [0, 0]
        finally:
            for agent in agents:
                stop(agent)
    return live.merged([folder / "state-0", folder / "state-1"], agreed)


def _latencies(result: Any) -> list[float]:
    """Seconds from each message's sending to its delivery."""
    sent, taken = {}, {}
    for _, t, event in result.events:
        if isinstance(event, events.MessageSent):
            sent[event.agent, event.peer, event.message] = t
        elif isinstance(event, events.MessageDelivered):
            taken[event.peer, event.agent, event.message] = t
    assert sent.keys() == taken.keys()
    return [taken[message] - t for message, t in sent.items()]
