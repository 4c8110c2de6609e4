"""docs/privacy.md and docs/proofs.md name tests and code: all of it must be there."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from simnet.privacy import curves, ledger, rounding
from simnet.privacy.noise import grid_price

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {name: (DOCS / name).read_text(encoding="utf-8") for name in ("privacy.md", "proofs.md")}
ROOM = {path.stem: f"simnet.privacy.{path.stem}" for path in (ROOT / "simnet" / "privacy").glob("[a-z]*.py")}
PARTS = re.split(r"\n(?=##+ (?:C\d|Theorem))", PAGES["proofs.md"])[1:]


@cache
def names_of_tests() -> set[str]:
    """The names of all tests."""
    return {
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }


def words(page: str) -> list[str]:
    """What stands in backquotes, without arguments."""
    return re.findall(r"`([^`\s]+)`", page)


def attribute(dotted: str) -> object:
    """`module.name` of the room of privacy, `Class.name` of one of its classes, or a full name."""
    first, *rest = dotted.split(".")
    if first == "simnet":
        module, name = dotted.rsplit(".", 1)
        return getattr(import_module(module), name)
    found: object
    if first in ROOM:
        found = import_module(ROOM[first])
    else:
        found = next(vars(m)[first] for m in map(import_module, ROOM.values()) if first in vars(m))
    for name in rest:
        found = getattr(found, name)
    return found


@pytest.mark.parametrize("name", PAGES)
def test_every_file_test_and_piece_of_code_that_is_named_exists(name):
    seen = 0
    for word in words(PAGES[name]):
        if word.startswith(("tests/", "simnet/", "scenarios/")):
            assert (ROOT / word).exists(), word
        elif word.startswith("test_"):
            assert word in names_of_tests(), word
        elif re.fullmatch(r"\w+(\.\w+)+", word) and (
            word.startswith("simnet.") or word.split(".")[0] in ROOM or word[0].isupper()
        ):
            attribute(word)
        else:
            continue
        seen += 1
    assert seen > 10
    for module in re.findall(r"python -m ([\w.]+)", PAGES[name]):
        assert (ROOT / f"{module.replace('.', '/')}.py").exists(), module


def test_every_adversary_has_all_six_answers():
    table = re.search(r"\| adversary \|.*?\n\n", PAGES["privacy.md"], re.DOTALL)
    assert table is not None
    lines = table[0].strip().split("\n")
    assert len(lines) >= 2 + 9
    for line in lines:
        cells = re.split(r"(?<!\\)\|", line)[1:-1]
        assert [len(cells), all(cell.strip() for cell in cells)] == [6, True], line
        if "proven" in cells[2]:
            assert "proofs.md#" in cells[3], line
            assert "`" in cells[4], line


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.split("\n")[0].lstrip("# "))
def test_every_theorem_has_statement_reason_place_check_and_standing(part):
    assert "*Statement.*" in part
    assert "*Proof" in part or "*Cited*" in part
    assert "*Code.*" in part
    assert "*Check.*" in part
    assert re.search(r"[Oo]urs|[Cc]ited|known argument|argument is that|[Aa] malicious hub|pseudorandom", part)


def test_no_proof_is_on_the_page_for_users():
    assert "∎" not in PAGES["privacy.md"]


def test_the_page_knows_every_way_to_price_an_account():
    for basis in (ledger.RENYI, ledger.TRANSPORT, ledger.THEOREM_G, ledger.EXACT, ledger.PURE):
        assert f"| `{basis}` |" in PAGES["privacy.md"]


def test_numbers_of_the_text_are_numbers_of_the_code():
    page = " ".join(PAGES["proofs.md"].split())
    assert f"{len(curves.ORDERS)} orders" in page
    assert f"ν̂ ≤ {rounding.SOLVED} β" in page
    assert f"({rounding.ROUNDING} β/(1.01 ω)" in page
    assert f"2 · {rounding.QUERY} β/μ" in page
    assert f"B below {rounding.LEAST:g} or {rounding.ROOM:g} N_b" in page
    assert (rounding.UNIT, rounding.COUPLING, rounding.GRADIENT_SLACK) == (2.0**-53, 2.0**-44, 2.0**-20)
    assert grid_price(1, 1, 0.0, 0.5)[0] == pytest.approx(2 * 2.4e-12, rel=0.01)
