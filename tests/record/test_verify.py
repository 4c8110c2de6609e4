import json

import pytest

from simnet import Scenario, run
from simnet.record import events as ev
from simnet.record.verify import verify
from tests.record.stories import forge, lawful, lines, start, store, write


def test_a_sound_run_has_no_findings(tmp_path):
    story = lawful(agents=4, rounds=5, tested=True, notices=True)
    raw, digest = write(story)
    (tmp_path / "log").write_bytes(raw)
    report = verify(tmp_path / "log")
    assert report.ok
    assert (report.events, report.digest, report.private, report.findings) == (len(story), digest, False, ())


def test_a_run_folder_is_checked_together_with_its_summary(tmp_path):
    path = store(lawful(), tmp_path)
    assert verify(path).ok
    summary = json.loads((path / "summary.json").read_bytes())
    (path / "summary.json").write_text(json.dumps(summary | {"digest": "f" * 64}))
    (finding,) = verify(path).findings
    assert finding.startswith(f"summary.json speaks of another run: its digest is {'f' * 64}, the log's ")
    (path / "summary.json").unlink()
    (finding,) = verify(path).findings
    assert "summary.json: No such file" in finding
    assert verify(path / "events.jsonl.zst").ok


def test_a_private_log_is_called_so(tmp_path):
    begin = ev.RunStarted(ev.SCHEMA, "0.1.0", True, {}, [(0, 1)], [1, 1], 2)
    (tmp_path / "log").write_bytes(write([(0.0, begin), (0.0, ev.RunFinished([0, 0], "", ""))])[0])
    assert verify(tmp_path / "log").private


def test_a_sealed_log_that_breaks_a_law_is_found_out(tmp_path):
    story = [(0.0, start(2, [(0, 1)])), (1.0, ev.MessageLost(0, 1, 1, 3)), (2.0, ev.RunFinished([0, 0], "", ""))]
    (tmp_path / "log").write_bytes(write(story)[0])
    report = verify(tmp_path / "log")
    assert report.findings == ("event 2 at t = 1 s: message 3 is lost but was never sent",)
    assert not report.ok


@pytest.mark.parametrize(
    ("harm", "finding"),
    [
        (lambda raw: raw[: len(raw) // 2], "cut short"),
        (lambda raw: b"", "cut short: the file is empty"),
        (lambda raw: raw + b"x", "altered: bytes follow"),
        (lambda raw: b"hello, world", "altered, or not a log"),
        (lambda raw: forge(lines(raw)[:-1]), "cut short: there is no run.finished"),
        (lambda raw: forge([*lines(raw)[:5], *lines(raw)[6:]]), "line 6: event 6 should come here, not 7"),
    ],
)
def test_a_damaged_log_is_one_finding(tmp_path, harm, finding):
    path = store(lawful(), tmp_path)
    log = path / "events.jsonl.zst"
    log.write_bytes(harm(log.read_bytes()))
    report = verify(path)
    assert not report.ok
    (found,) = report.findings
    assert found.startswith(finding)


def test_what_is_no_log_is_a_finding_too(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        (finding,) = verify(path).findings
        assert str(path) in finding


def test_epsilon_is_recomputed_from_the_charges_alone(tmp_path):
    scenario = Scenario.of(
        {
            "name": "spent",
            "rounds": 3,
            "data": {"source": "synthetic", "rows": 2000, "features": 3, "partition": "uneven", "concentration": 20},
            "algorithm": {"name": "pp-admm", "eta": 0.1},
            "privacy": {"epsilon": 3.0},
        }
    )
    result = run(scenario, tmp_path)
    report = verify(result.folder)
    assert report.ok
    assert report.privacy.proven_epsilon == result.summary["privacy"]["proven_epsilon"] == pytest.approx(3.0, abs=1e-4)
    text = (result.folder / "summary.json").read_text()
    summary = json.loads(text)
    summary["privacy"]["proven_epsilon"] = 0.5
    (result.folder / "summary.json").write_text(json.dumps(summary))
    (finding,) = verify(result.folder).findings
    assert finding.startswith("summary.json says proven_epsilon = 0.5, the log's charges come to 2.99")


def test_a_charge_that_makes_no_sense_is_a_finding(tmp_path):
    begin = ev.RunStarted(ev.SCHEMA, "0.1.0", False, {"privacy": {"delta": 1e-4}}, [(0, 1)], [1, 1], 2)
    charge = ev.PrivacySpent(0, 1, "release", "magic", {})
    (tmp_path / "log").write_bytes(write([(0.0, begin), (0.0, charge), (0.0, ev.RunFinished([0, 0], "", ""))])[0])
    (finding,) = verify(tmp_path / "log").findings
    assert finding.startswith("event 2, privacy.spent: 'magic' is not a mechanism")
