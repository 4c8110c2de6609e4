"""The rules of the house: one part, one place; every module in a layer; nothing in the heart too long to read."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from simnet.methods import METHODS
from simnet.parts.part import Section

ROOT = Path(__file__).parents[1]
HOUSE = ROOT / "simnet"
MODULES = sorted(HOUSE.rglob("*.py"))
HEART = ("methods", "network", "agent", "sim", "record")
LONGEST = 40


def room(path: Path) -> str:
    """The package, or the module itself if it lies at the top."""
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


def dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_no_module_name_occurs_twice():
    names = Counter(path.name for path in MODULES if path.name != "__init__.py")
    assert [name for name, count in names.items() if count > 1] == []


def test_no_public_class_name_occurs_twice():
    classes = Counter(
        node.name
        for path in MODULES
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in classes.items() if count > 1] == []


@pytest.mark.parametrize("method", [name for name in METHODS if name != "admm"])  # the family's name
def test_a_method_is_named_in_at_most_three_files(method):
    name = re.compile(rf"(?<![\w]){re.escape(method)}(?![\w])|(?<![\w]){method.replace('-', '_')}(?![\w])")
    assert len([path for path in MODULES if name.search(path.read_text())]) <= 3


def test_every_module_has_its_layer():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    listed = {name.strip() for layer in layers for name in re.split(r"[|:]", layer)}
    assert {f"simnet.{room(path)}" for path in MODULES if path.parent != HOUSE or path.name != "__init__.py"} == listed


def test_no_function_of_the_heart_is_too_long_to_read():
    found = []
    for path in MODULES:
        if room(path) not in HEART:
            continue
        for node in functions(path):
            lines = (node.end_lineno or 0) - node.lineno + 1
            if lines > LONGEST:
                found.append(f"{dotted(path)}.{node.name}: {lines} lines")
    assert found == []


def test_nobody_asks_which_class_a_section_is_outside_its_own_room():
    found = []
    for path in MODULES:
        names = vars(import_module(dotted(path))) if "isinstance(" in path.read_text() else {}
        for node in ast.walk(ast.parse(path.read_text())) if names else ():
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"):
                continue
            for name in ast.walk(node.args[1]):
                asked = names.get(name.id) if isinstance(name, ast.Name) else None
                if isinstance(asked, type) and issubclass(asked, Section):
                    home = asked.__module__.split(".")[1]
                    if home not in (room(path), "parts"):
                        found.append(f"{dotted(path)}:{node.lineno} asks for {asked.__name__}")
    assert found == []
