"""`simnet check` and `simnet init --method` as users see them."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

from simnet.check.outcome import CheckResult, Outcome, Status
from simnet.cli import app
from simnet.cli.check_commands import check_table
from simnet.errors import ScenarioError
from simnet.report.check_page import check_page

FAILED = CheckResult(
    "mine.py:Mine <b>",
    "algorithm",
    "ab" * 32,
    (
        Outcome("loads", Status.PASSED, "Mine, for algorithm", "a scenario names it"),
        Outcome("runs", Status.FAILED, "ZeroDivisionError: <script> (mine.py, line 3)", "a small world " * 9),
        Outcome("audit", Status.NOT_APPLICABLE, "waits for `runs`", "noise is looked at"),
    ),
)


def test_a_word_of_our_own_is_checked_and_its_verdict_written(tmp_path):
    page = tmp_path / "verdict.html"
    done = CliRunner().invoke(
        app, ["check", "constant", "--set", "network.link.latency.value=5 ms", "--json", "--out", str(page)]
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["place"] == "network.link.latency"
    assert found["passed"] is True
    assert page.read_text().count("<tr") == len(found["checks"])


def test_a_method_that_is_written_is_not_written_over(tmp_path):
    path = tmp_path / "mine.py"
    done = CliRunner().invoke(app, ["init", "--method", str(path)])
    assert done.exit_code == 0
    assert "simnet check mine.py:NoisyDescent" in path.read_text()
    assert "exists already" in str(CliRunner().invoke(app, ["init", "--method", str(path)]).exception)


@pytest.mark.parametrize("name", ["nobody", "nowhere.py:Mine", "nowhere.py"])
def test_a_name_that_leads_nowhere_is_bad_input(name):
    assert isinstance(CliRunner().invoke(app, ["check", name]).exception, ScenarioError)


def test_a_class_that_is_no_part_fails_the_first_check(tmp_path):
    (tmp_path / "mine.py").write_text("class Mine:\n    pass\n")
    done = CliRunner().invoke(app, ["check", f"{tmp_path}/mine.py:Mine", "--json"])
    assert done.exit_code == 1
    assert "is no part" in json.loads(done.stdout)["checks"][0]["found"]


def test_the_table_fits_80_columns():
    out = io.StringIO()
    Console(file=out, width=80).print(check_table(FAILED))
    assert max(map(len, out.getvalue().splitlines())) <= 80
    assert "1 of 3 checks failed; 1 not applicable" in out.getvalue()


def test_the_page_escapes_what_it_is_told():
    text = check_page(FAILED)
    assert "&lt;script&gt; (mine.py" in text
    assert "Mine &lt;b&gt;" in text
    assert FAILED.source in text
