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
