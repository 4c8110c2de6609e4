from __future__ import annotations

import pytest

from simnet.errors import LiveError
from simnet.live import agent_folder as folder


def test_a_folder_has_one_user_at_a_time(tmp_path):
    with folder.occupied(tmp_path / "agent"), pytest.raises(LiveError, match="another process is this agent already"):
        folder.occupied(tmp_path / "agent").__enter__()
    with folder.occupied(tmp_path / "agent"):
        pass


def test_each_start_is_an_incarnation_higher_than_all_before(tmp_path):
    assert [folder.incarnation(tmp_path) for _ in range(3)] == [1, 2, 3]


def test_a_secret_is_drawn_once_and_only_its_owner_may_read_it(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()

    assert folder.secret(one) == folder.secret(one) != folder.secret(other)
    assert len(folder.secret(one)) == 32
    assert (one / "secret").stat().st_mode & 0o077 == 0


def test_a_folder_of_another_scenario_is_refused(tmp_path):
    folder.keep_scenario(tmp_path, "rounds = 3")
    folder.keep_scenario(tmp_path, "rounds = 3")

    with pytest.raises(LiveError, match="another scenario"):
        folder.keep_scenario(tmp_path, "rounds = 4")


def test_a_folder_whose_agent_has_not_begun_may_have_an_empty_journal(tmp_path):
    (tmp_path / "journal").touch()
    folder.secret(tmp_path)

    folder.refuse_to_forget(tmp_path, empty=True)


@pytest.mark.parametrize("journal", [True, False])
def test_a_folder_whose_agent_has_begun_must_have_its_journal(tmp_path, journal):
    folder.begin(tmp_path)
    if journal:
        (tmp_path / "journal").touch()

    with pytest.raises(LiveError, match="its journal is empty or gone, so nobody knows what it has sent"):
        folder.refuse_to_forget(tmp_path, empty=True)
    folder.refuse_to_forget(tmp_path, empty=False)


def test_a_secret_must_have_its_journal(tmp_path):
    folder.secret(tmp_path)

    with pytest.raises(LiveError, match="its journal is gone"):
        folder.refuse_to_forget(tmp_path, empty=True)


def test_a_process_that_was_outnumbered_is_followed_by_a_later_one(tmp_path):
    folder.incarnation(tmp_path)
    folder.outnumbered(tmp_path, 7)

    assert folder.incarnation(tmp_path) == 8
