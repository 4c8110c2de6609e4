from __future__ import annotations

import pytest

from simnet.errors import LiveError
from simnet.live.agent_folder import AgentFolder


def test_a_folder_has_one_user_at_a_time(tmp_path):
    folder = AgentFolder(tmp_path / "agent")
    with folder.occupied(), pytest.raises(LiveError, match="another process is this agent already"):
        folder.occupied().__enter__()
    with folder.occupied():
        pass


def test_each_start_is_an_incarnation_higher_than_all_before(tmp_path):
    assert [AgentFolder(tmp_path).incarnation() for _ in range(3)] == [1, 2, 3]


def test_a_secret_is_drawn_once_and_only_its_owner_may_read_it(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()

    assert AgentFolder(one).secret() == AgentFolder(one).secret() != AgentFolder(other).secret()
    assert len(AgentFolder(one).secret()) == 32
    assert (one / "secret").stat().st_mode & 0o077 == 0


def test_a_folder_of_another_scenario_is_refused(tmp_path):
    AgentFolder(tmp_path).keep_scenario("rounds = 3")
    AgentFolder(tmp_path).keep_scenario("rounds = 3")

    with pytest.raises(LiveError, match="another scenario"):
        AgentFolder(tmp_path).keep_scenario("rounds = 4")


def test_a_folder_whose_agent_has_not_begun_may_have_an_empty_journal(tmp_path):
    (tmp_path / "journal").touch()
    AgentFolder(tmp_path).secret()

    AgentFolder(tmp_path).refuse_to_forget(empty=True)


@pytest.mark.parametrize("journal", [True, False])
def test_a_folder_whose_agent_has_begun_must_have_its_journal(tmp_path, journal):
    AgentFolder(tmp_path).begin()
    if journal:
        (tmp_path / "journal").touch()

    with pytest.raises(LiveError, match="its journal is empty or gone, so nobody knows what it has sent"):
        AgentFolder(tmp_path).refuse_to_forget(empty=True)
    AgentFolder(tmp_path).refuse_to_forget(empty=False)


def test_a_secret_must_have_its_journal(tmp_path):
    AgentFolder(tmp_path).secret()

    with pytest.raises(LiveError, match="its journal is gone"):
        AgentFolder(tmp_path).refuse_to_forget(empty=True)


def test_a_process_that_was_outnumbered_is_followed_by_a_later_one(tmp_path):
    AgentFolder(tmp_path).incarnation()
    AgentFolder(tmp_path).outnumbered(7)

    assert AgentFolder(tmp_path).incarnation() == 8


@pytest.mark.parametrize("name", ["incarnation", "secret"])
def test_a_damaged_file_of_a_folder_is_a_sentence_that_names_it(tmp_path, name):
    folder = AgentFolder(tmp_path)
    (tmp_path / name).write_bytes(b"\xff garbage")

    with pytest.raises(LiveError, match=f"{name} is damaged"):
        folder.incarnation() if name == "incarnation" else folder.secret()


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "a file").touch()

    with pytest.raises(LiveError, match="the agent cannot keep its state there"):
        AgentFolder(tmp_path / "a file").incarnation()
