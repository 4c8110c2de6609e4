import getpass
import json
import platform
from pathlib import Path

import numpy as np

from simnet.record.environment import environment


def test_it_tells_what_decides_the_last_bits():
    found = environment("1.2.3")
    assert found["simnet"] == "1.2.3"
    assert found["python"].endswith(platform.python_version())
    assert found["packages"]["numpy"] == np.__version__
    assert found["packages"].keys() >= {"scipy", "simpy", "networkx", "structlog"}
    assert all(isinstance(name, str) and name for name in found["blas"])


def test_it_tells_nothing_about_the_machine_its_user_or_its_paths():
    text = json.dumps(environment("1.2.3"))
    assert "/" not in text
    assert "\\\\" not in text
    for secret in (platform.node(), getpass.getuser(), Path.home().name, Path.cwd().name):
        assert f'"{secret}"' not in text
        assert f" {secret}" not in text
