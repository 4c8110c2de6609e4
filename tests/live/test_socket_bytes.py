"""What sockets carried, by the kernel's count: on loopback, over reconnections, under TLS, and after a crash."""

from __future__ import annotations

import socket
import sys

import pytest

from simnet import run as simulate
from simnet.agent.pacing import ALIGNED
from simnet.live import run as live
from simnet.live import socket_bytes
from simnet.live.socket_bytes import Carried, Sockets, carried, note, noted
from simnet.record.verify import verify
from tests.live.party import HOST, QUICK, Proxy, pair, run
from tests.worlds import live_world

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux counts")


@pytest.fixture
def ends():
    with socket.create_server((HOST, 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    with near, far:
        yield near, far


@linux
def test_the_kernel_counts_every_byte_at_both_ends(ends):
    near, far = ends
    near.sendall(bytes(50_000))
    left = 50_000
    while left:
        left -= len(far.recv(left))
    far.sendall(b"thanks")
    near.recv(6)
    here, there = carried(near), carried(far)
    assert (here.sent, here.received) == (50_000, 6)
    assert (there.sent, there.received) == (6, 50_000)
    assert here.headers in (here.segments * 40, here.segments * 52)
    assert here.segments >= 2
    near.close()
    assert carried(near) is None


def test_where_the_system_does_not_tell_there_is_no_number(ends, monkeypatch, tmp_path):
    monkeypatch.setattr(socket_bytes, "_TCP_INFO", None)
    sockets = Sockets()
    sockets.opened(1, ends[0])
    assert sockets.total is None
    note(tmp_path, 1, sockets.total)
    assert noted(tmp_path) is None


def test_an_old_kernel_that_tells_too_little_tells_nothing():
    class Old:
        family = socket.AF_INET

        def getsockopt(self, *_: int) -> bytes:
            return bytes(104)

    assert carried(Old()) is None


@linux
def test_what_a_closed_socket_carried_stays(ends):
    near, far = ends
    sockets = Sockets()
    sockets.opened(1, near)
    near.sendall(bytes(100))
    far.recv(100)
    assert sockets.total.sent == 100
    near.close()  # behind its back: what was last known counts
    assert sockets.total.sent == 100
    sockets.closing(1)
    sockets.closing(1)
    sockets.opened(1, far)
    far.close()
    assert (sockets.total.sent, sockets.total.received) == (100, 101)  # TCP counts the end of a stream as a byte


def test_of_each_process_the_last_line_counts_and_a_torn_one_does_not(tmp_path):
    for incarnation, sent in ((1, 10), (1, 25), (2, 3), (3, 7)):
        note(tmp_path, incarnation, Carried(sent, 2 * sent, 1, 52))
    with (tmp_path / socket_bytes.FILE).open("ab") as file:
        file.write(b'\n{"incarnation":3,"carr')
    note(tmp_path, 4, Carried(1, 0, 0, 0))
    assert noted(tmp_path) == Carried(36, 70, 3, 156)


@linux
def test_connections_that_were_cut_count_as_those_that_came_after_them(deployment):
    async def story() -> None:
        left, right = pair(deployment, limits=QUICK)
        proxy = Proxy(lambda: right.channel.address, [4000, 4000])
        left.peers[1] = await proxy.start()
        await right.channel.start()
        right.peers[0] = ("127.0.0.1", 1)  # nobody: one direction is enough
        await left.channel.start()
        rounds = range(1, 101)
        left.send(1, *rounds)
        await right.has(*((0, round) for round in rounds))
        await left.is_rid_of_all()
        before = left.channel.sockets.total.sent
        assert proxy.cuts == 2
        proxy.cut()
        left.send(1, 101)
        await right.has(*((0, round) for round in range(1, 102)))
        assert left.channel.sockets.total.sent > before > 8_000
        await left.channel.close()
        await right.channel.close()
        assert right.channel.sockets.total.received > 8_000
        await proxy.close()

    run(story)


@linux
@pytest.mark.parametrize("tls", [False, True])
def test_a_live_run_tells_what_its_sockets_carried_beside_the_bytes_of_its_frames(tls, tmp_path):
    wide = {"data.features": 300, "data.rows": 400, "data.train": 300, "rounds": 8}
    result = live.run(live_world(**wide), tmp_path, tls=tls)
    told, frames = result.summary["sockets"], result.summary["communication"]["wire_bytes"]
    assert frames < told["sent_bytes"] < 3 * frames
    # A connection is counted just before its end, so what is said in the last moment may be seen at one end only.
    assert told["received_bytes"] == pytest.approx(told["sent_bytes"], rel=0.05)
    assert result.agents["socket_bytes"].sum() == told["sent_bytes"]
    assert verify(result.folder, ALIGNED).findings == ()


def test_a_simulated_run_has_no_sockets():
    result = simulate(live_world(rounds=1))
    assert "sockets" not in result.summary
    assert "socket_bytes" not in result.agents.columns
