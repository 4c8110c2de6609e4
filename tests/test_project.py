"""What stands beside the package: its name, its citation, its container."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from simnet.version import VERSION

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_citation_names_this_version():
    cited = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {VERSION}\n" in cited
    assert f"\nlicense: {PROJECT['license']}\n" in cited


def test_nobody_is_told_to_install_a_package_of_another_name():
    told = [
        path
        for folder in ("docs", "simnet", "tests")
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix in (".py", ".md")
    ]
    for path in [*told, ROOT / "README.md"]:
        for name in re.findall(r"pip install '?(simnet[\w-]*)", path.read_text()):
            assert name == PROJECT["name"], path


def test_a_container_has_all_that_the_package_needs():
    kept = (ROOT / ".dockerignore").read_text().split()
    copied = re.findall(r"^COPY (.*) /src", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    for name in " ".join(copied).split():
        assert (ROOT / name).exists()
        assert f"!{name}" in kept


def test_a_wheel_is_built_with_the_scenarios(tmp_path):
    build = pytest.importorskip("hatchling.build", reason="hatchling is not installed: pip install hatchling")
    import zipfile

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        wheel = build.build_wheel(str(tmp_path))
    names = zipfile.ZipFile(tmp_path / wheel).namelist()
    assert wheel.startswith(PROJECT["name"].replace("-", "_"))
    assert {"simnet/cli/shipped/quickstart.toml", "simnet/cli/shipped/networks/two-coasts.graphml"} <= set(names)
