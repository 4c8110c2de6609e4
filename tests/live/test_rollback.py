"""An agent that is put back to an earlier state: it refuses to go on, and its noise is never drawn for two releases."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from contextlib import asynccontextmanager, suppress

import pytest

from simnet.build import build
from simnet.errors import LiveError
from simnet.live.agent import Placement, serve
from simnet.live.fleet import LOOPBACK, free_ports
from simnet.live.journal import RecordKind, read
from simnet.live.run import content, merge
from simnet.live.standalone import OwnSupervisor
from simnet.record import events
from simnet.record.bus import Bus
from tests.live.party import PATIENCE
from tests.worlds import live_world

ROUNDS = 20


class Deployment:
    """Three private agents with noise of their own, in one process; each can be stopped and started again."""

    def __init__(self, folder) -> None:
        self.world = build(live_world(rounds=ROUNDS))
        self.folders = [folder / f"state-{agent}" for agent in range(3)]
        self.said: list[str] = []
        self._places = {agent: (LOOPBACK, port) for agent, port in enumerate(free_ports(3))}
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def start(self, agent: int, **changes) -> asyncio.Task[None]:
        placement = Placement(
            agent, self.folders[agent], "run", self._places[agent], self._places, shim=False, own_noise=True, **changes
        )
        supervisor = OwnSupervisor(ROUNDS, linger=PATIENCE, say=self.said.append)
        self._tasks[agent] = asyncio.create_task(serve(self.world, placement, supervisor))
        return self._tasks[agent]

    async def until(self, ready: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not ready():
                await asyncio.sleep(0.005)

    async def stop(self, agent: int) -> None:
        self._tasks[agent].cancel()
        with suppress(asyncio.CancelledError):
            await self._tasks.pop(agent)

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def rounds_let_out(self, agent: int) -> int:
        """How many rounds of an agent its first neighbour has heard of."""
        return sum(
            isinstance(event, events.MessageDelivered) and event.peer == agent
            for _, event in content(self.folders[(agent + 1) % 3]).events
        )


@asynccontextmanager
async def at_work(folder, until: str = f"round 16 of {ROUNDS}"):
    """A deployment with all agents at work, the first stopped as soon as it has said so much."""
    deployment = Deployment(folder)
    for agent in range(3):
        deployment.start(agent)
    try:
        await deployment.until(lambda: until in deployment.said)
        await deployment.stop(0)
        yield deployment
    finally:
        await deployment.close()


@pytest.mark.parametrize("share", [0.5, 0.25, 0.9])
def test_an_agent_whose_journal_was_cut_refuses_to_send_its_rounds_again(tmp_path, share):
    async def story() -> None:
        async with at_work(tmp_path) as deployment:
            journal = deployment.folders[0] / "journal"
            journal.write_bytes(journal.read_bytes()[: int(share * journal.stat().st_size)])
            before = deployment.rounds_let_out(0)

            with pytest.raises(
                LiveError, match=r"agent 0: agent \d holds round \d+ of this agent, and the journal ends"
            ):
                await deployment.start(0)

            assert deployment.rounds_let_out(0) == before

    asyncio.run(story())


def test_an_agent_whose_journal_is_empty_refuses_to_begin_again(tmp_path):
    async def story() -> None:
        async with at_work(tmp_path) as deployment:
            (deployment.folders[0] / "journal").write_bytes(b"")

            with pytest.raises(LiveError, match="has begun, and its journal is empty or gone"):
                await deployment.start(0)

    asyncio.run(story())


def test_a_secret_without_a_journal_is_a_refusal_and_not_a_fresh_start(tmp_path):
    async def story() -> None:
        async with at_work(tmp_path) as deployment:
            for name in ("journal", "begun"):
                (deployment.folders[0] / name).unlink()

            with pytest.raises(LiveError, match="secret of the agent's noise is there, and its journal is gone"):
                await deployment.start(0)

    asyncio.run(story())


def test_an_agent_whose_whole_folder_is_gone_is_told_by_its_neighbours(tmp_path):
    async def story() -> None:
        async with at_work(tmp_path) as deployment:
            shutil.rmtree(deployment.folders[0])

            with pytest.raises(LiveError, match="has met a later process of this agent"):
                await deployment.start(0)
            with pytest.raises(LiveError, match=r"holds round \d+ of this agent, and the journal ends with round 0"):
                await deployment.start(0)

    asyncio.run(story())


def test_a_whole_folder_from_a_backup_is_noticed_before_anything_new_leaves(tmp_path):
    async def story() -> None:
        async with at_work(tmp_path, until=f"round 6 of {ROUNDS}") as deployment:
            shutil.copytree(deployment.folders[0], tmp_path / "backup")
            deployment.start(0)
            await deployment.until(lambda: deployment.said.count(f"round 14 of {ROUNDS}") == 3)
            await deployment.stop(0)
            shutil.rmtree(deployment.folders[0])
            (tmp_path / "backup").rename(deployment.folders[0])

            with pytest.raises(LiveError, match=r"agent 0: agent \d (has met a later process|holds round)"):
                await deployment.start(0)

    asyncio.run(story())


def test_a_neighbour_that_is_away_is_waited_for_before_anything_new_leaves(tmp_path, monkeypatch):
    """It may be the only one that has the newest round."""
    monkeypatch.setattr("simnet.live.agent._UNEASY", 0.05)

    async def story() -> None:
        async with at_work(tmp_path) as deployment:
            await deployment.stop(2)
            before = deployment.rounds_let_out(0)
            deployment.start(0)
            await deployment.until(lambda: any("waits for agent 2" in word for word in deployment.said))
            assert deployment.rounds_let_out(0) == before

            await deployment.stop(0)
            deployment.start(0, without=frozenset({2}))
            await deployment.until(lambda: deployment.rounds_let_out(0) > before)

    asyncio.run(story())


def test_an_agent_that_was_stopped_before_it_began_may_begin(tmp_path):
    """Its neighbours were not there yet: the secret is drawn, the journal has no record, and nothing has left."""

    async def story() -> None:
        deployment = Deployment(tmp_path)
        first = deployment.start(0)
        while not (deployment.folders[0] / "secret").exists():
            await asyncio.sleep(0)
        await deployment.stop(0)
        assert first.cancelled()
        await asyncio.gather(*(deployment.start(agent) for agent in range(3)))
        assert [len(content(folder).results) for folder in deployment.folders] == [ROUNDS] * 3

    asyncio.run(story())


def whole_run(folder) -> Deployment:
    """A deployment that has come to its end, agent 0 stopped and started once on the way."""

    async def story() -> Deployment:
        async with at_work(folder) as deployment:
            deployment.start(0)
            await asyncio.gather(*deployment._tasks.values())
            return deployment

    return asyncio.run(story())


def merged(deployment: Deployment) -> None:
    merge(deployment.world, deployment.folders, Bus())


def test_a_merged_record_proves_that_nothing_was_released_twice(tmp_path):
    deployment = whole_run(tmp_path)
    merged(deployment)

    links = [kind for kind, _ in read(deployment.folders[0] / "journal") if kind is RecordKind.LINK]
    assert len(links) == ROUNDS


def test_journals_of_which_one_was_put_back_make_no_record(tmp_path):
    deployment = whole_run(tmp_path)
    journal = deployment.folders[0] / "journal"
    journal.write_bytes(journal.read_bytes()[: int(0.6 * journal.stat().st_size)])

    with pytest.raises(LiveError, match=r"agent \d holds a frame of round \d+ of agent 0 that is not in"):
        merged(deployment)
