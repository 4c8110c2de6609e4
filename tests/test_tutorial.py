"""The tutorial is true: its commands run one after another, and print what the page and the notebook show."""

from __future__ import annotations

import json
import re
from pathlib import Path

from analysis.make_tutorial import BLOCK, NOTEBOOK, PAGE, filled, kept, notebook, play, source, steady

TEXT = PAGE.read_text(encoding="utf-8")
STORED = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
CODE = [cell for cell in STORED["cells"] if cell["cell_type"] == "code"]
SOURCES = ["".join(cell["source"]) for cell in CODE]
PRINTED = ["".join(line for output in cell["outputs"] for line in output["text"]) for cell in CODE]


def test_every_cell_runs_and_prints_what_the_notebook_holds(tmp_path):
    # One test for all that needs a run: it takes most of a minute.
    for code, stored, printed in zip(SOURCES, PRINTED, play(SOURCES, tmp_path), strict=True):
        assert steady(printed) == steady(stored), f"{code}\nrun: python -m analysis.make_tutorial"
    kept, given_away = (losses(tmp_path / name) for name in ("compared", "published"))
    assert len(kept) == len(given_away) == 2
    assert None not in kept
    assert given_away == [None, None], "a published record tells nothing that sees rows without noise"
    assert (tmp_path / "results" / "budgets" / "report.html").stat().st_size > 10_000


def losses(folder: Path) -> list[float | None]:
    summaries = [json.loads(file.read_text(encoding="utf-8")) for file in folder.rglob("summary.json")]
    return [summary["accuracy"].get("train_loss") for summary in summaries]


def test_the_page_and_the_notebook_are_one():
    assert [source(block) for block in BLOCK.finditer(TEXT)] == SOURCES
    assert filled(TEXT, PRINTED) == TEXT
    assert notebook(TEXT, PRINTED) == STORED


def test_the_page_uses_every_command_that_it_is_about():
    used = set(re.findall(r"\bsimnet (\w+)", "\n".join(SOURCES)))
    assert used >= {"init", "check", "explain", "compare", "sweep", "report", "live", "audit", "publish", "log"}


def printed_by(command: str) -> str:
    (found,) = (printed for code, printed in zip(SOURCES, PRINTED, strict=True) if code.startswith(command))
    return found


def test_the_method_has_forty_lines():
    method = printed_by("!cat my_method.py")
    assert len([line for line in method.splitlines() if line.strip()]) < 40


def test_live_agents_learn_what_simulated_ones_learn():
    simulated = re.search(r"NoisyDescent +(\S+) +(\S+)", printed_by("!simnet compare").splitlines()[-2])
    live = [re.search(rf"{name} +│ +(\S+)", printed_by("!simnet live")) for name in ("test error", "train loss")]
    assert simulated is not None
    assert [each[1] for each in live if each] == list(simulated.groups())


def test_what_changes_from_run_to_run_is_not_compared():
    one = "│ lasted      │      0.592 s │ 986 events │\ntook 1.38 s; run folder: x/a31489afd14c\naudit: 99264fd7b34a"
    assert steady(one) == ["audit: …"]
    other = one.replace("0.592", "0.744").replace("99264fd7b34a", "0123456789ab")
    assert kept(one, other) == one
    assert kept(one, other + "\nanother line") == other + "\nanother line"
    assert steady("wrote published/b\nwrote published/a") == steady("wrote published/a\nwrote published/b")
    assert steady("test error 0.1163") != steady("test error 0.1164")
