"""The live commands as a stranger meets them: real processes, real files, real signals."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from simnet.live.fleet import free_ports
from simnet.methods.peer import alone
from simnet.record.fitness import FROM_SECRET, FROM_SEED, TIMES_TELL

ROOT = Path(__file__).parents[2]
QUICK = """
name = "tiny one"
rounds = 12
[data]
source = "synthetic"
rows = 400
features = 4
[topology]
kind = "complete"
agents = 2
[algorithm]
name = "pp-admm"
eta = 0.05
[privacy]
epsilon = 10.0
[network]
pacing = { kind = "barrier", patience = "60 s" }
[compute]
time = "100 ms"
"""
COMMAND = [sys.executable, "-c", "from simnet.cli import main; main()"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "tiny.toml").write_text(QUICK)
    return tmp_path


def simnet(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *words], cwd=cwd, capture_output=True, text=True, env=ENVIRONMENT)


def begun(*words: str, cwd: Path, **environment: str) -> subprocess.Popen[str]:
    env = ENVIRONMENT | environment
    return subprocess.Popen([*COMMAND, *words], cwd=cwd, stderr=subprocess.PIPE, text=True, env=env)


def test_live_and_simulated_stand_side_by_side_and_the_log_holds(place):
    done = simnet("live", "tiny.toml", "--compare", "--set", "rounds=3", cwd=place)

    assert done.returncode == 0, done.stderr
    assert "live / simulated" in done.stdout
    folder = done.stdout.splitlines()[-1].partition("run folder: ")[2]
    verdict = simnet("log", "verify", folder, cwd=place)
    assert (verdict.returncode, "the log holds" in verdict.stdout) == (0, True)
    assert simnet("report", folder, cwd=place).returncode == 0
    assert (place / folder / "report.html").is_file()


def test_what_cannot_be_live_is_one_sentence_and_exit_code_2(place):
    done = simnet("live", "tiny.toml", "--set", "network.pacing=ideal", cwd=place)

    assert done.returncode == 2
    assert done.stderr.startswith("simnet: network.pacing.kind = 'ideal'")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stopped_run_leaves_no_process_and_no_file(place, number, code):
    scratch = place / "scratch"
    scratch.mkdir()
    run = begun("live", "tiny.toml", "--set", "compute.time=60 s", cwd=place, TMPDIR=str(scratch))
    while run.poll() is None and sum(path.stat().st_size > 0 for path in scratch.glob("*/agent-*/journal")) < 2:
        threading.Event().wait(0.01)
    agents = children(run.pid)

    run.send_signal(number)
    _, errors = run.communicate()

    assert (run.returncode, errors) == (code, "simnet: interrupted; nothing was kept\n")
    assert len(agents) == 2
    assert [agent for agent in agents if Path(f"/proc/{agent}").exists()] == []
    assert list(scratch.iterdir()) == []
    assert not (place / "runs").exists()


def test_agents_whose_parent_is_killed_stop_by_themselves(place):
    run = begun("live", "tiny.toml", "--set", "compute.time=60 s", cwd=place, TMPDIR=str(place))
    while run.poll() is None and len(children(run.pid)) < 2:
        threading.Event().wait(0.01)
    agents = children(run.pid)

    run.kill()
    run.wait()

    while any(Path(f"/proc/{agent}").exists() for agent in agents):
        threading.Event().wait(0.05)


def children(process: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == process:
                found.append(int(path.parent.name))
    return found


def test_certificates_are_made_once_and_keys_are_their_owners_alone(place):
    done = simnet("live", "init", "keys", "--scenario", "tiny.toml", "--host", "1=10.0.0.2", cwd=place)

    assert done.returncode == 0, done.stderr
    names = {"ca.pem", "agent-0.pem", "agent-0.key", "agent-1.pem", "agent-1.key"}
    assert {path.name for path in (place / "keys").iterdir()} == names
    assert (place / "keys" / "agent-0.key").stat().st_mode & 0o777 == 0o600
    again = simnet("live", "init", "keys", "--agents", "2", cwd=place)
    assert (again.returncode, "never overwritten" in again.stderr) == (2, True)


def interrupted_run(place: Path, noise: str) -> dict[str, Any]:
    """Two agents, one stopped and one killed, both started again: the summary of their journals, which verify."""
    ports = free_ports(2)
    (place / "peers.toml").write_text(
        f'run = "clinics"\n[agents]\n0 = "127.0.0.1:{ports[0]}"\n1 = "127.0.0.1:{ports[1]}"\n'
    )
    assert simnet("live", "init", "keys", "--agents", "2", cwd=place).returncode == 0
    words = ["agent", "tiny.toml", "--peers", "peers.toml", "--certificates", "keys", "--noise", noise, "--shim", "-v"]

    def agent(number: int) -> subprocess.Popen[str]:
        return begun(*words, "--id", str(number), "--state", f"state-{number}", cwd=place)

    agents = [agent(0), agent(1)]
    until(agents[0], "round 3 of")
    agents[0].terminate()
    assert agents[0].wait() == 143
    agents[0] = agent(0)
    until(agents[0], "round 6 of")
    agents[1].kill()
    agents[1].wait()
    agents[1] = agent(1)
    told = [each.communicate()[1] for each in agents]
    assert [each.returncode for each in agents] == [0, 0]
    assert 'event="restarted from its journal" agent=1' in told[1]

    merged = json.loads(simnet("live", "merge", "state-0", "state-1", "--json", cwd=place).stdout)
    folder = next((place / "runs").glob(f"*/{merged['digest'][:12]}"))
    assert simnet("log", "verify", str(folder), cwd=place).returncode == 0
    return merged


def test_two_hosts_one_stopped_one_killed_both_started_again_make_the_simulated_run(place):
    merged = interrupted_run(place, "scenario")
    simulated = json.loads(simnet("run", "tiny.toml", "--json", cwd=place).stdout)
    assert merged["accuracy"] == simulated["accuracy"]
    assert merged["privacy"].pop("caveats") == [TIMES_TELL]
    assert simulated["privacy"].pop("caveats") == []
    assert merged["privacy"] == simulated["privacy"]
    assert merged["communication"]["delivered"] == simulated["communication"]["messages"]


def test_agents_with_noise_of_their_own_go_on_with_it_after_a_crash(place):
    """A repeated round must come out as it was, to the bit, or the agent stops with a sentence."""
    merged = interrupted_run(place, "own")
    simulated = json.loads(simnet("run", "tiny.toml", "--json", cwd=place).stdout)
    assert merged["accuracy"] != simulated["accuracy"]
    assert merged["privacy"].pop("fit") == FROM_SECRET
    assert simulated["privacy"].pop("fit") == FROM_SEED
    assert merged["privacy"].pop("caveats") == [TIMES_TELL]
    assert simulated["privacy"].pop("caveats") == []
    assert merged["privacy"] == simulated["privacy"]
    assert merged["communication"]["delivered"] == simulated["communication"]["messages"]


def until(process: subprocess.Popen[str], words: str) -> None:
    """Read what an agent says until it says this."""
    assert process.stderr is not None
    assert any(words in line for line in process.stderr)


def test_an_agents_own_noise_is_nobody_elses(place):
    """By default the noise is not that of the seed, which everybody in the deployment knows."""
    from simnet.build import build
    from simnet.live.agent_folder import AgentFolder
    from simnet.privacy.secret_noise import secret_streams
    from simnet.scenario import Scenario
    from simnet.simulate import peers_of

    world = build(Scenario.load(place / "tiny.toml"))
    own = alone(peers_of(world, secret_streams(AgentFolder(place).secret()))[0].propose(1)).release[0]
    known = alone(peers_of(world)[0].propose(1)).release[0]

    assert abs(own - known).max() > 1e-3


def test_an_agent_without_its_peer_file_is_one_sentence(place):
    done = simnet("agent", "tiny.toml", "--id", "0", "--peers", "none.toml", "--state", "s", cwd=place)

    assert done.returncode == 2
    assert done.stderr == "simnet: none.toml: the peer file cannot be read (No such file or directory)\n"
