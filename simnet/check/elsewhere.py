"""A run in a process of its own: `python -m simnet.check.elsewhere content|pickle`, from stdin, a digest to stdout."""

from __future__ import annotations

import json
import pickle
import sys
import warnings
from pathlib import Path
from typing import cast

from simnet.check.outcome import told
from simnet.scenario import Scenario
from simnet.simulate import run


def scenario_of(how: str, task: bytes) -> Scenario:
    """The scenario, read anew from its files or pickled with all that it needs."""
    if how == "pickle":
        return cast(Scenario, pickle.loads(task))
    told = json.loads(task)
    return Scenario.of(told["content"], folder=None if told["folder"] is None else Path(told["folder"]))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    try:
        print(run(scenario_of(sys.argv[1], sys.stdin.buffer.read())).digest)
    except Exception as error:
        sys.exit(told(error))
