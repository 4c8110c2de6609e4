"""When two runs are the same run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from simnet import Scenario
from simnet.study.keys import Keyring, code_version
from tests.study.small import SCENARIO

KEYED = """
import json, sys
from simnet import Scenario
from simnet.study.keys import Keyring
print(Keyring().key(Scenario.of(json.loads(sys.argv[1]))))
"""


def test_a_key_is_the_same_in_every_process_and_whatever_the_order_of_the_file():
    turned = dict(reversed(SCENARIO.items()))
    root = str(Path(code_version.__wrapped__.__code__.co_filename).parents[2])
    found = {
        subprocess.run(
            [sys.executable, "-c", KEYED, json.dumps(each)],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": root},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed, each in (("1", SCENARIO), ("2", turned))
    }
    assert found == {Keyring().key(Scenario.of(SCENARIO))}


def test_saying_a_default_aloud_changes_no_key_and_changing_anything_does():
    base = Scenario.of(SCENARIO)
    key = Keyring().key(base)
    assert Keyring().key(base.with_(**{"network.codec": "float64", "network.link.latency": "0 ms"})) == key
    others = [base.with_(seed=2), base.with_(rounds=4), base.with_(**{"network.link.loss": 0.1})]
    assert len({key, *(Keyring().key(other) for other in others)}) == 4


def test_a_data_file_that_changes_makes_another_run(tmp_path):
    rows = "".join(f"{i % 2},{i / 10},{(i * 7) % 5}\n" for i in range(40))
    scenario = Scenario.of(SCENARIO | {"data": {"source": "rows.csv", "label": 0}}, folder=tmp_path)
    keys = []
    for text in ("label,a,b\n" + rows, "label,a,b\n" + rows + "1,0.5,2\n"):
        (tmp_path / "rows.csv").write_text(text)
        keys.append(Keyring().key(scenario))
    assert keys[0] != keys[1]
