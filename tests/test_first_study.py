"""docs/first_study.md is true: its files are made, its commands run, and its page begins with the answer."""

from __future__ import annotations

import html
import re
from pathlib import Path

from analysis.make_first_study import PAGE
from analysis.make_tutorial import BLOCK, play, source
from tests.portions import thorough

TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = list(BLOCK.finditer(TEXT))
SOURCES = [source(block) for block in BLOCKS]
COMMANDS = [code for code in SOURCES if code.startswith("!")]


def first_sentence(folder: Path) -> str:
    """What the study's page begins with."""
    page = (folder / "results" / "sensors" / "report.html").read_text(encoding="utf-8")
    found = re.search(r'<p class="answer" id="answer">(.*?)</p>', page)
    assert found is not None
    return html.unescape(found[1])


def test_the_commands_end_in_a_page_that_begins_with_the_answer(tmp_path):
    # A tenth of the rows, one seed and one method: the same way in less time.
    smaller = {"ROWS, rng = 120_000": "ROWS, rng = 12_000", "--seeds 3": "--seeds 1 --methods one-shot"}
    smaller["seeds=3"] = 'seeds=1, methods=["one-shot"]'
    codes = []
    for code in SOURCES:
        for old, new in smaller.items():
            code = code.replace(old, new)
        codes.append(code)
    printed = play(codes, tmp_path)
    answer = printed[SOURCES.index("!simnet reach results/sensors")].splitlines()[-1]
    assert "a test error of 0.31 at a proven ε of at most 1" in answer
    assert first_sentence(tmp_path) == answer
    assert printed[-1].splitlines() == [answer, "results/sensors/report.html"]
    comments = [line for line in (tmp_path / "sensors.toml").read_text().splitlines() if "#" in line]
    assert any("blank cells: " in line for line in comments)


@thorough
def test_every_command_prints_what_the_page_shows(tmp_path):
    for block, printed in zip(BLOCKS, play(SOURCES, tmp_path), strict=True):
        assert printed == (block["output"] or ""), f"{block['code']}\nrun: python -m analysis.make_first_study"


def test_it_takes_at_most_eight_commands_or_twenty_lines():
    assert len(COMMANDS) <= 8
    (notebook,) = (code for code in SOURCES if "simnet.plan(" in code)
    assert len(notebook.splitlines()) <= 20


def test_the_page_shows_the_answer_that_its_reach_prints():
    (reach,) = (block for block in BLOCKS if block["code"].startswith("simnet reach"))
    (notebook,) = (block for block in BLOCKS if "simnet.plan(" in block["code"])
    assert reach["output"].splitlines()[-1] == notebook["output"].splitlines()[0]


def test_the_links_of_the_page_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)", TEXT):
        assert (PAGE.parent / target).exists(), target
