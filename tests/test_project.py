"""What stands beside the package: its name, its citation, its container."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

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


def test_a_wheel_has_all_that_a_first_run_needs(tmp_path):
    # Nothing but the wheel's own files is found: `-P` leaves the current folder out, and the path has them first.
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith(PROJECT["name"].replace("-", "_"))
    with zipfile.ZipFile(wheel) as files:
        files.extractall(tmp_path / "installed")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}

    def simnet(*words: str) -> str:
        command = [sys.executable, "-P", "-m", "simnet", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert simnet("--version") == f"simnet {VERSION}\n"
    assert "networks/shared-bottleneck" in simnet("scenarios")
    simnet("init", "--from", "networks/shared-bottleneck")
    assert (tmp_path / "two-coasts.graphml").exists()
    simnet("init", "--from", "quickstart")
    assert (
        str(tmp_path / "installed")
        in subprocess.run(
            [sys.executable, "-P", "-c", "import simnet; print(simnet.__file__)"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    assert "test error" in simnet("run", "quickstart.toml")
