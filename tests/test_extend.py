"""The public module is complete, documented, typed, and its page runs."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import simnet.extend
from simnet import Scenario, run
from simnet.check import Status, check
from tests.portions import some

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the page, and with rows for its scenario."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_extension.py").write_text("\n\n".join(BLOCKS), encoding="utf-8")
    ((name, scenario),) = re.findall(r"```toml\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / name).write_text(scenario, encoding="utf-8")
    X = np.random.default_rng(1).normal(size=(400, 4))
    np.savetxt("rows.csv", np.column_stack([X, np.sign(X[:, 0] + 0.1)]), delimiter=",")
    return tmp_path / name


def test_the_blocks_of_the_page_run_one_after_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "my_extension"}
    for number, block in enumerate(BLOCKS, 1):
        exec(compile(block, f"block {number} of docs/extend.md", "exec"), names)


def test_every_name_is_used_in_an_example_and_has_a_sentence():
    nodes = [node for block in BLOCKS for node in ast.walk(ast.parse(block))]
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    assert set(simnet.extend.__all__) - used == set()
    assert [name for name in simnet.extend.__all__ if f"`{name}`" not in PAGE and f"`{name}(" not in PAGE] == []


def test_the_scenario_of_the_page_runs_with_all_its_parts(page):
    scenario = Scenario.load(page)
    named = re.findall(r"my_extension\.py:\w+", page.read_text(encoding="utf-8"))
    assert sorted(part.reference for part in scenario.foreign()) == sorted(named)
    summary = run(scenario).summary
    assert summary["accuracy"]["test_error"] < 0.5
    assert summary["privacy"]["proven_epsilon"] == pytest.approx(1.0)
    assert summary["measures"]["Longest"] > 0


@pytest.mark.parametrize("method", ["Echo", "Lazy"])
def test_the_baselines_of_the_page_learn_and_promise_nothing(method, page):
    baseline = {"algorithm": {"name": f"my_extension.py:{method}"}, "task": "my_extension.py:Ramp"}
    summary = run(Scenario.load(page).with_(**baseline)).summary
    assert summary["accuracy"]["test_error"] < 0.2
    assert summary["privacy"]["proven_epsilon"] is None


@pytest.mark.parametrize("method", some(["Descent", "ScaledDescent", "OneModel", "Gated", "Echo", "Lazy"], 3))
def test_the_methods_of_the_page_pass_the_kit(method, page):
    found = check(f"my_extension.py:{method}", quick=True)
    assert [each.sentence for each in found.outcomes if each.status is Status.FAILED] == []


def test_the_list_of_names_is_sorted_and_complete():
    names = simnet.extend.__all__
    assert names == sorted(names, key=lambda name: (not name.isupper(), name.islower(), name)), "as ruff sorts"
    assert len(names) == len(set(names))
    public = {name for name in vars(simnet.extend) if not name.startswith("_")} - {"annotations"}
    assert public == set(names)


@pytest.mark.parametrize("name", simnet.extend.__all__)
def test_every_class_and_function_has_a_docstring_of_its_own(name):
    thing = getattr(simnet.extend, name)
    if inspect.isclass(thing) or inspect.isfunction(thing):
        assert (vars(thing).get("__doc__") or "").strip() if inspect.isclass(thing) else thing.__doc__


def test_an_extension_with_types_runs_as_well(tmp_path):
    file = tmp_path / "typed_extension.py"
    file.write_text((ROOT / "tests" / "typed_extension.py").read_text(encoding="utf-8"), encoding="utf-8")
    content = {
        "rounds": 10,
        "data": {"source": "synthetic", "rows": 600},
        "task": "typed_extension.py:TypedTask",
        "topology": {"kind": "ring", "agents": 4},
        "algorithm": {"name": "typed_extension.py:TypedDescent"},
        "privacy": {"epsilon": 10.0},
        "network": {"pacing": "barrier", "link": {"latency": "typed_extension.py:TypedLatency"}},
    }
    summary = run(Scenario.of(content, folder=tmp_path)).summary
    assert summary["test_error_is"] == "mean absolute error"
    assert summary["accuracy"]["test_error"] < 1.0
    assert summary["privacy"]["proven_epsilon"] == pytest.approx(10.0)


def test_the_types_are_checked_with_those_of_simnet():
    assert '"tests/typed_extension.py"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
