"""What `--verbose` tells, that it changes no result, and that it tells no secret."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import simnet
from simnet.diagnostics import FACTS, milestone
from simnet.live.fleet import free_ports

COMMAND = [sys.executable, "-c", "from simnet.cli import main; main()"]
TINY = """
name = "tiny one"
rounds = 3
[data]
source = "synthetic"
rows = 400
features = 4
[topology]
kind = "complete"
agents = 2
[algorithm]
name = "pp-admm"
[privacy]
epsilon = 10.0
[network]
pacing = { kind = "barrier", patience = "60 s" }
"""
FACT = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S*)')


def done(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    (cwd / "tiny.toml").write_text(TINY)
    return subprocess.run([*COMMAND, *words], cwd=cwd, capture_output=True, text=True)


def happenings(text: str) -> list[dict[str, str]]:
    """The facts of each line of diagnostics."""
    lines = [line for line in text.splitlines() if line.startswith("timestamp=")]
    return [{name: value.strip('"') for name, value in FACT.findall(line)} for line in lines]


def test_a_verbose_run_tells_what_it_built_and_that_it_finished_and_gives_the_same_result(tmp_path):
    quiet = done("run", "tiny.toml", "--json", cwd=tmp_path)
    verbose = done("run", "tiny.toml", "--json", "-v", cwd=tmp_path)

    built, finished = happenings(verbose.stderr)
    assert (built["event"], built["agents"], built["links"]) == ("world built", "2", "1")
    summary = json.loads(verbose.stdout)
    assert (finished["event"], finished["digest"]) == ("run finished", summary["digest"][:12])
    assert quiet.stderr == ""
    assert json.loads(quiet.stdout)["digest"] == summary["digest"]


def test_a_verbose_sweep_tells_when_each_run_starts_finishes_or_fails(tmp_path):
    (tmp_path / "study.toml").write_text(
        'name = "small"\nbase = "tiny.toml"\nreplicates = 1\n[grid]\n"privacy.epsilon" = [10.0, 1e-9]\n'
    )
    swept = done("sweep", "study.toml", "--workers", "1", "--verbose", cwd=tmp_path)

    told = happenings(swept.stderr)
    events = [each["event"] for each in told]
    assert events[:2] == ["sweep started", "run started"], swept.stderr
    assert sorted(events[2:]) == ["run failed", "run finished", "run started"]
    keys = {name: {each["key"] for each in told if each["event"] == name} for name in set(events[1:])}
    assert keys["run started"] == keys["run failed"] | keys["run finished"]


def test_agents_tell_of_their_lives_and_nothing_of_their_secrets(tmp_path):
    ports = free_ports(2)
    places = "\n".join(f'{agent} = "127.0.0.1:{port}"' for agent, port in enumerate(ports))
    (tmp_path / "peers.toml").write_text(f'run = "clinics"\n[agents]\n{places}\n')
    (tmp_path / "tiny.toml").write_text(TINY)
    words = ["agent", "tiny.toml", "--peers", "peers.toml", "-v"]
    agents = [
        subprocess.Popen(
            [*COMMAND, *words, "--id", str(number), "--state", f"state-{number}"],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in (0, 1)
    ]
    for number, agent in enumerate(agents):
        _, text = agent.communicate()
        assert agent.returncode == 0, text
        told = happenings(text)
        events = [each["event"] for each in told]
        for event in ("agent started", "connected", "first round begins", "agent finished"):
            assert event in events
        assert all(set(each) <= {"timestamp", "level", "event", *FACTS} for each in told)
        assert (tmp_path / f"state-{number}" / "secret").read_text() not in text


def calls() -> Iterator[ast.Call]:
    """Where the code tells something."""
    for path in Path(simnet.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text if "from simnet.diagnostics import" in text else "")):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("tell", "warn"):
                yield node


def test_no_line_of_the_code_tells_more_than_the_facts_that_are_listed():
    named = {str(keyword.arg) for call in calls() for keyword in call.keywords}
    assert named == set(FACTS), "a fact that nobody tells"


def test_the_page_lists_every_happening():
    page = (Path(__file__).parents[1] / "docs" / "live.md").read_text(encoding="utf-8")
    table = page.split("\n## What agents tell\n")[1].split("\n## ")[0]
    listed = {
        word for row in re.findall(r"^\| (`.*?) \|", table, flags=re.MULTILINE) for word in re.findall(r"`(.+?)`", row)
    }
    happenings = {
        part.value
        for call in calls()
        for part in ast.walk(call.args[0])
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }
    assert happenings == listed - {"event"}


def test_a_flood_is_told_at_each_power_of_ten():
    assert [count for count in range(1, 1001) if milestone(count)] == [1, 10, 100, 1000]
