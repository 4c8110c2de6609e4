"""`simnet compare scenarios/papers/adult.toml --methods all --epsilon 1`: every method, one table, the same ε."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from simnet.methods import METHODS

ADULT = Path(__file__).parents[2] / "scenarios" / "papers" / "adult.toml"


def test_every_method_meets_the_same_epsilon_in_one_command():
    code = "from simnet.cli import main; main()"
    arguments = ["compare", str(ADULT), "--methods", "all", "--epsilon", "1", "--json"]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    summaries = {summary["algorithm"]: summary for summary in json.loads(done.stdout)}
    assert list(summaries) == list(METHODS)
    for name, summary in summaries.items():
        spent = summary["privacy"]["proven_epsilon"]
        assert spent is None if name == "admm" else spent == pytest.approx(1.0, rel=1e-4)
    errors = {name: summary["accuracy"]["test_error"] for name, summary in summaries.items()}
    majority = 0.248
    assert all(error < majority for error in errors.values())
    # Gaussian noise in the objective beats gamma-type noise by far, at the same proven ε.
    assert errors["pp-admm"] < min(errors[name] for name in ("dvp", "pvp", "m-admm", "r-admm")) - 0.02
    # The rows that travel: 35,000 users, or the 28,000 rows of four leaves.
    assert summaries["pdml"]["communication"]["messages"] - summaries["admm"]["communication"]["messages"] == 35_000
    assert summaries["dp-admm"]["communication"]["messages"] == 28_000 + 4 * 30
    assert re.search("trust", summaries["dp-admm"]["privacy"]["basis"])
