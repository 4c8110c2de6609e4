"""The command line as a stranger meets it: real processes, real files."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from simnet.version import VERSION
from tests.called import called

ROOT = Path(__file__).parents[2]
QUICK = """
name = "tiny one"
rounds = 4
[data]
source = "synthetic"
rows = 400
features = 4
[topology]
kind = "ring"
agents = 4
[algorithm]
name = "admm"
"""


def simnet(*words: str, cwd: Path, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from simnet.cli import main; main()", *words]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, **options
    )


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(QUICK)
    return path


def test_run_prints_a_table_and_leaves_a_run_folder(scenario, tmp_path):
    done = simnet("run", "tiny.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "test error" in done.stdout
    folder = tmp_path / done.stdout.splitlines()[-1].partition("run folder: ")[2]
    names = {"agents.csv", "environment.json", "events.jsonl.zst", "rounds.csv", "scenario.toml", "summary.json"}
    assert {path.name for path in folder.iterdir()} == names
    assert folder.parent == tmp_path / "runs" / "tiny-one"
    assert max(map(len, done.stdout.splitlines()[:-1])) <= 100


def test_json_is_the_only_thing_on_stdout_and_equals_the_stored_summary(scenario, tmp_path):
    done = simnet("run", "tiny.toml", "--json", cwd=tmp_path)
    summary = json.loads(done.stdout)
    assert done.stderr == ""
    stored = next((tmp_path / "runs").glob("*/*/summary.json"))
    assert json.loads(stored.read_text()) == summary
    assert stored.parent.name == summary["digest"][:12]


def test_the_resolved_scenario_of_a_run_reproduces_it(scenario, tmp_path):
    first = json.loads(simnet("run", "tiny.toml", "--json", "--set", "algorithm.eta=0.07", cwd=tmp_path).stdout)
    stored = next((tmp_path / "runs").glob("*/*/scenario.toml"))
    again = json.loads(simnet("run", str(stored), "--json", "--out", "elsewhere", cwd=tmp_path).stdout)
    assert again["digest"] == first["digest"]


def test_overrides_and_seed_reach_the_run(scenario, tmp_path):
    words = ("--set", "rounds=2", "--set", 'network.link.loss={kind="bernoulli", p=1.0}', "--seed", "9")
    summary = json.loads(simnet("run", "tiny.toml", "--json", *words, cwd=tmp_path).stdout)
    assert (summary["rounds"], summary["seed"]) == (2, 9)
    assert summary["communication"]["lost"] == summary["communication"]["messages"] == 16


def test_compare_prints_one_row_per_method(scenario, tmp_path):
    done = simnet("compare", "tiny.toml", "--methods", "admm,pp-admm", "--epsilon", "8", cwd=tmp_path)
    assert "…" not in done.stdout  # no number is cut off
    assert done.returncode == 0, done.stderr
    assert "pp-admm" in done.stdout
    assert not (tmp_path / "runs").exists()
    found = json.loads(
        simnet("compare", "tiny.toml", "--methods", "admm,ipp-admm", "--epsilon", "8", "--json", cwd=tmp_path).stdout
    )
    assert [summary["algorithm"] for summary in found] == ["admm", "ipp-admm"]
    assert "control" not in found[0]
    assert (found[1]["control"]["of"], found[1]["control"]["method"]) == ("ipp-admm", "pp-admm")
    assert {summary["privacy"]["epsilon"] for summary in found} == {8.0}


def test_explain_tells_the_noise_before_anything_runs(scenario, tmp_path):
    words = ("--set", "algorithm.name=pp-admm", "--set", "privacy.epsilon=8")
    done = simnet("explain", "tiny.toml", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "σ1" in done.stdout
    assert "ε proven" in done.stdout
    assert list(tmp_path.iterdir()) == [scenario]


def test_list_names_what_there_is(tmp_path):
    done = simnet("list", cwd=tmp_path)
    for word in ("ipp-admm", "small-world", "deadline", "lognormal", "float32"):
        assert word in done.stdout


def test_init_writes_a_scenario_that_runs_and_never_overwrites(tmp_path):
    assert simnet("init", "mine.toml", cwd=tmp_path).returncode == 0
    assert simnet("explain", "mine.toml", cwd=tmp_path).returncode == 0
    again = simnet("init", "mine.toml", cwd=tmp_path)
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_a_log_verifies_replays_and_differs_from_another(scenario, tmp_path):
    for seed in ("1", "2"):
        simnet("run", "tiny.toml", "--seed", seed, "--out", seed, cwd=tmp_path)
    one, two = (str(next((tmp_path / seed).glob("*/*"))) for seed in ("1", "2"))
    for words in (("verify", one), ("replay", one), ("diff", one, one)):
        done = simnet("log", *words, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    assert simnet("log", "diff", one, two, cwd=tmp_path).returncode == 1
    lines = simnet("log", "export", one, cwd=tmp_path).stdout.splitlines()
    assert json.loads(lines[0])["event"] == "run.started"
    assert json.loads(lines[-1])["event"] == "run.finished"
    log = Path(one) / "events.jsonl.zst"
    log.write_bytes(log.read_bytes()[:-40])
    cut = simnet("log", "verify", one, cwd=tmp_path)
    assert cut.returncode in (1, 2)
    assert "cut short" in cut.stdout + cut.stderr
    assert "Traceback" not in cut.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("run", "absent.toml"), "absent.toml"),
        (("run", "tiny.toml", "--set", "nonsense"), "field=value"),
        (("run", "tiny.toml", "--set", "network.link.loss=1.4"), "network.link.loss = 1.4: a probability"),
        (("run", "tiny.toml", "--set", "algorithm.name=adm"), "did you mean"),
        (("compare", "tiny.toml", "--methods", "admm,nope"), "nope"),
        (("log", "diff", "absent", "absent"), "absent"),
        (("run",), ""),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_two(words, sentence, scenario, tmp_path):
    done = simnet(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == [scenario]


def test_ctrl_c_leaves_nothing_behind(tmp_path):
    (tmp_path / "long.toml").write_text(QUICK.replace("rounds = 4", "rounds = 100000"))
    command = [sys.executable, "-c", "from simnet.cli import main; main()", "run", "long.toml"]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    ) as process:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("runs/*/.*")) and time.monotonic() < deadline:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.strip() == "simnet: interrupted; nothing was kept"
    assert [path.name for path in tmp_path.iterdir()] == ["long.toml"]


def test_a_full_disk_is_a_sentence_and_leaves_nothing_behind(scenario, tmp_path):
    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    done = simnet("run", "tiny.toml", "--set", "rounds=200", cwd=tmp_path, preexec_fn=small_files)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "runs" in done.stderr
    assert list(tmp_path.iterdir()) == [scenario]


def test_verify_names_the_proof_that_it_finds_from_the_charges_of_the_log(scenario, tmp_path):
    private = ("--set", "algorithm.name=pp-admm", "--set", "privacy.epsilon=5")
    summary = json.loads(simnet("run", str(scenario), *private, "--json", cwd=tmp_path).stdout)
    folder = next((tmp_path / "runs").glob(f"*/{summary['digest'][:12]}"))
    (folder / "summary.json").unlink()  # the log alone must do
    told = simnet("log", "verify", str(folder / "events.jsonl.zst"), cwd=tmp_path)
    assert told.returncode == 0
    assert f"ε by {summary['privacy']['basis']}" in told.stdout


def test_a_module_is_the_command_too_and_says_its_version(tmp_path):
    words = [sys.executable, "-m", "simnet", "--version"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"simnet {VERSION}\n")


def test_a_terminal_without_greek_letters_is_no_traceback(scenario, tmp_path):
    words = [sys.executable, "-m", "simnet", "explain", "tiny.toml"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*words, "--set", "algorithm.name=pp-admm"], cwd=tmp_path, capture_output=True, env=env)
    assert done.returncode == 0, done.stderr
    assert b"\\u03b5" in done.stdout
    done = subprocess.run([*words, "--json"], cwd=tmp_path, capture_output=True, env=env)
    assert json.loads(done.stdout)["scenario"]["name"] == "tiny one"


def test_another_method_drops_what_it_does_not_have_and_says_so(scenario):
    own = 'name = "ipp-admm"\nmax_releases = 5\neta = 0.3'
    scenario.write_text(QUICK.replace('name = "admm"', own))
    code, out, err = called("explain", str(scenario), "--set", "algorithm.name=admm", "--json")
    assert (code, json.loads(out)["scenario"]["method"]) == (0, "admm")
    assert err == "simnet: left out, because what is chosen now does not have it: algorithm.max_releases\n"
    assert json.loads(out)["local problem"]["η"] == 0.3


@pytest.mark.parametrize(("loss", "lost"), [("5%", 0.05), ("0.5 %", 0.005), ("100%", 1.0)])
def test_a_percentage_is_a_probability(scenario, loss, lost):
    from simnet import Scenario

    found = Scenario.load(scenario).with_(**{"network.link.loss": loss})
    assert found.network.link.loss.p == lost
    code, _, err = called("explain", str(scenario), "--set", "network.link.loss=105%")
    assert (code, err) == (2, 'network.link.loss = "105%": a probability lies between 0 and 1')
