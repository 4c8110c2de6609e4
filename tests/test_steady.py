"""A law meets the same examples whatever else is imported and wherever its file lies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.portions import thorough

LAW = """
import sys
from hypothesis import given, strategies as st
import simnet.errors
{imports}
met = []

@given(st.integers(), st.floats(), st.text())
def test_nothing(whole, number, text):
    met.append((whole, number, text))

def test_tell():
    test_nothing()
    print("met", hash(repr(met)), file=open({tell!r}, "w"))
"""


def met(folder: Path, imports: str) -> str:
    """A fingerprint of the examples that a law meets in a process of its own."""
    folder.mkdir()
    tell = folder / "told.txt"
    conftest = Path(__file__).with_name("conftest.py").read_text()
    (folder / "conftest.py").write_text(conftest)
    (folder / "test_law.py").write_text(LAW.format(imports=imports, tell=str(tell)))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_law.py"]
    environment = {"PYTHONHASHSEED": "0", "PYTHONPATH": str(Path(__file__).parents[1])}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return tell.read_text()


@thorough
def test_the_examples_of_a_law_do_not_depend_on_what_is_imported(tmp_path):
    alone = met(tmp_path / "alone", "")
    crowded = met(tmp_path / "crowded", "import simnet.simulate, simnet.live.agent, simnet.studies.sweep")
    assert alone == crowded
