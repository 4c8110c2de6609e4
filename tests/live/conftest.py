from __future__ import annotations

from pathlib import Path

import pytest

from simnet.live import certificates


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The certificates of agents 0 to 3."""
    folder = tmp_path_factory.mktemp("deployment")
    certificates.init(folder, range(4))
    return folder


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The certificates of agents 0 to 3 of another deployment."""
    folder = tmp_path_factory.mktemp("elsewhere")
    certificates.init(folder, range(4))
    return folder
