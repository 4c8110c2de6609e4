from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from simnet.errors import LiveError
from simnet.live.machine import Machine
from simnet.live.standalone import OwnSupervisor, load_peers, read_address

FILE = """
run = "clinics"

[agents]
0 = "10.0.0.1:7000"
1 = "[::1]:7001"
"""


def test_a_peer_file_says_where_everybody_is(tmp_path):
    (tmp_path / "peers.toml").write_text(FILE)

    run, agents = load_peers(tmp_path / "peers.toml", 2)

    assert run == "clinics"
    assert agents == {0: ("10.0.0.1", 7000), 1: ("::1", 7001)}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (FILE.replace('run = "clinics"', ""), "run is missing"),
        ('run = "x"', r"\[agents\] is missing"),
        (FILE.replace("1 =", "2 ="), "should name the agents 0 to 1, each once"),
        (FILE.replace(":7000", ""), r"agents.0 = '10.0.0.1': should be host:port"),
        ("run = ", "not TOML"),
    ],
)
def test_a_mistake_in_it_is_a_sentence(tmp_path, text, sentence):
    (tmp_path / "peers.toml").write_text(text)

    with pytest.raises(LiveError, match=sentence):
        load_peers(tmp_path / "peers.toml", 2)


def test_a_peer_file_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(LiveError, match="cannot be read"):
        load_peers(tmp_path / "peers.toml", 2)


@pytest.mark.parametrize("text", ["", "host", "host:", ":80", "host:0", "host:65536", "host:http", "host:²"])
def test_what_is_not_an_address_is_refused(text):
    with pytest.raises(LiveError, match="should be host:port"):
        read_address(text, "--listen")


class _Idle(Machine):
    """A machine on which a second passes whenever somebody looks at the clock."""

    seconds = 0.0

    def ticks(self):
        self.seconds += 1.0
        return self.seconds


@pytest.mark.parametrize(("lived", "looks"), [(True, 2), (False, 61)])
def test_an_agent_that_had_finished_stays_for_a_neighbour_that_waits_for_it(lived, looks, monkeypatch):
    """One that has just lived its last round leaves as soon as nobody needs it."""
    monkeypatch.setattr("simnet.live.standalone._PAUSE", 0.0)
    machine = _Idle()
    supervisor = OwnSupervisor(3, 60.0, lambda text: None, machine)
    if lived:
        supervisor.round_finished(3)
    nothing_left = SimpleNamespace(
        memory=SimpleNamespace(save=lambda: None),
        carrier=SimpleNamespace(waiting={}),
        channel=SimpleNamespace(pending={}),
        neighbourhood=SimpleNamespace(behind=lambda round: 0),
    )

    asyncio.run(supervisor.until_dismissed(nothing_left))

    assert machine.seconds == looks
