import json

import pytest

from simnet import Scenario, run
from simnet.agent.pacing import ALIGNED
from simnet.errors import LogError
from simnet.record import events as ev
from simnet.record.verify import replay, verify
from tests.record.stories import forge, lawful, lines, start, store, write


def test_a_sound_run_has_no_findings(tmp_path):
    story = lawful(agents=4, rounds=5, tested=True, notices=True)
    raw, digest = write(story)
    (tmp_path / "log").write_bytes(raw)
    report = verify(tmp_path / "log", ALIGNED)
    assert not report.findings
    assert (report.events, report.digest, report.findings) == (len(story), digest, ())


def test_a_run_folder_is_checked_together_with_its_summary(tmp_path):
    path = store(lawful(), tmp_path)
    assert not verify(path, ALIGNED).findings
    summary = json.loads((path / "summary.json").read_bytes())
    (path / "summary.json").write_text(json.dumps(summary | {"digest": "f" * 64}))
    (finding,) = verify(path, ALIGNED).findings
    assert finding.startswith(f"summary.json speaks of another run: its digest is {'f' * 64}, the log's ")
    (path / "summary.json").unlink()
    (finding,) = verify(path, ALIGNED).findings
    assert "summary.json: No such file" in finding
    assert not verify(path / "events.jsonl.zst", ALIGNED).findings


def test_a_sealed_log_that_breaks_a_law_is_found_out(tmp_path):
    begin = (0.0, start(2, [(0, 1)], rounds=0))
    story = [begin, (1.0, ev.MessageLost(0, 1, 1, 3)), (2.0, ev.RunFinished([0, 0], "", ""))]
    (tmp_path / "log").write_bytes(write(story)[0])
    report = verify(tmp_path / "log", ALIGNED)
    assert report.findings == ("event 2 at t = 1 s: message 3 is lost but was never sent",)
    assert report.findings


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
    report = verify(path, ALIGNED)
    assert report.findings
    (found,) = report.findings
    assert found.startswith(finding)


def test_what_is_no_log_is_a_finding_too(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        (finding,) = verify(path, ALIGNED).findings
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
    report = verify(result.folder, ALIGNED)
    assert not report.findings
    assert report.privacy.proven_epsilon == result.summary["privacy"]["proven_epsilon"] == pytest.approx(3.0, abs=1e-4)
    text = (result.folder / "summary.json").read_text()
    summary = json.loads(text)
    summary["privacy"]["proven_epsilon"] = 0.5
    (result.folder / "summary.json").write_text(json.dumps(summary))
    (finding,) = verify(result.folder, ALIGNED).findings
    assert finding.startswith("summary.json says privacy.proven_epsilon = 0.5, the log 2.99")


def test_a_charge_that_makes_no_sense_is_a_finding(tmp_path):
    begin = ev.RunStarted(ev.SCHEMA, "0.1.0", False, {"privacy": {"delta": 1e-4}}, [(0, 1)], [1, 1], 2)
    charge = ev.PrivacySpent(0, 1, "release", "magic", {})
    (tmp_path / "log").write_bytes(write([(0.0, begin), (0.0, charge), (0.0, ev.RunFinished([0, 0], "", ""))])[0])
    (finding,) = verify(tmp_path / "log", ALIGNED).findings
    assert finding.startswith("event 2, privacy.spent: 'magic' is not a mechanism")


@pytest.fixture
def folder(tmp_path):
    return store(lawful(agents=4, rounds=4), tmp_path)


def edit(path, change):
    summary = json.loads(path.read_bytes())
    change(summary)
    path.write_text(json.dumps(summary))


def test_the_log_alone_gives_the_stored_figures(folder):
    report = replay(folder)
    assert not report.findings
    assert report.digest.startswith(folder.name)
    assert report.events == len(lawful(agents=4, rounds=4))


def test_the_time_it_took_does_not_matter(folder):
    edit(folder / "summary.json", lambda summary: summary["time"].update(wall=1e9))
    assert not replay(folder).findings


def test_the_summary_of_an_older_version_need_not_tell_of_tests(tmp_path):
    folder = store(lawful(agents=4, rounds=4, tested=True), tmp_path)
    edit(folder / "summary.json", lambda summary: summary["tests"].update(asked=1))
    assert any("tests.asked is 1" in finding for finding in replay(folder).findings)
    edit(folder / "summary.json", lambda summary: summary.pop("tests"))
    assert not replay(folder).findings


def test_a_figure_that_was_changed_is_named_with_both_values(folder):
    edit(folder / "summary.json", lambda summary: summary["communication"].update(lost=0))
    (finding,) = replay(folder).findings
    lost = sum(isinstance(event, ev.MessageLost) for _, event in lawful(agents=4, rounds=4))
    assert finding == f"summary.json: communication.lost is 0, the log gives {lost}"


def test_figures_that_are_missing_or_new_are_named(folder):
    edit(folder / "summary.json", lambda summary: (summary["staleness"].pop("mean"), summary.update(beauty=10)))
    first, second = replay(folder).findings
    assert first.startswith("summary.json: staleness.mean is missing, the log gives ")
    assert second == "summary.json: beauty is 10, the log gives missing"


def test_a_changed_cell_of_a_table_is_named(folder):
    for name, row in (("rounds.csv", "round 2"), ("agents.csv", "agent 1")):
        rows = (folder / name).read_text().splitlines()
        column = rows[0].split(",").index("messages")
        cells = rows[2].split(",")
        true, cells[column] = cells[column], "999"
        rows[2] = ",".join(cells)
        (folder / name).write_text("\n".join(rows) + "\n")
        assert f"{name}, {row}: messages is 999, the log gives {true}" in replay(folder).findings


def test_rows_and_columns_that_are_not_there_are_missed(folder):
    text = (folder / "rounds.csv").read_text()
    (folder / "rounds.csv").write_text("".join(text.splitlines(keepends=True)[:-1]))
    assert replay(folder).findings == ("rounds.csv: there are 3 rows, the log gives 4",)
    (folder / "rounds.csv").write_text(text.replace("train_loss", "loss"))
    assert replay(folder).findings == ("rounds.csv: the columns are not those that the log gives",)
    (folder / "rounds.csv").write_text(text)
    assert not replay(folder).findings


def test_the_last_bits_of_a_figure_do_not_matter(folder):
    edit(
        folder / "summary.json",
        lambda summary: summary["staleness"].update(mean=summary["staleness"]["mean"] * (1 + 1e-14)),
    )
    assert not replay(folder).findings


@pytest.mark.parametrize("name", ["summary.json", "rounds.csv", "agents.csv"])
@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe\x00", b"{"])
def test_a_broken_or_missing_file_is_a_finding(folder, name, content):
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    (finding,) = replay(folder).findings
    assert name in finding


def test_many_findings_are_cut(folder):
    text = (folder / "rounds.csv").read_text()
    head, *rows = text.splitlines()
    altered = (",".join(["7"] * len(row.split(","))) for row in rows)
    (folder / "rounds.csv").write_text("\n".join([head, *altered]) + "\n")
    findings = replay(folder).findings
    assert len(findings) == 21
    assert findings[-1].startswith("and ")


def test_a_damaged_log_gives_no_figures(folder):
    log = folder / "events.jsonl.zst"
    log.write_bytes(log.read_bytes()[:-1])
    with pytest.raises(LogError, match=r"^cut short"):
        replay(folder)


@pytest.mark.parametrize(
    "event", [ev.RoundStarted, ev.BroadcastSent(9, 1, 16), ev.PrivacySpent(0, 1, "release", "hope", {})]
)
def test_a_log_that_makes_no_sense_is_a_sentence(tmp_path, event):
    begin = start(2, [(0, 1)])
    if event is ev.RoundStarted:
        begin, event = ev.RunStarted(ev.SCHEMA, "0.1.0", False, {}, [(0, 1)], [1, 1], 2), event(0, 1)
    raw, _ = write([(0.0, begin), (1.0, event), (2.0, ev.RunFinished([0, 0], "", ""))])
    (tmp_path / "events.jsonl.zst").write_bytes(raw)
    with pytest.raises(LogError, match=r"^events [12] to [13]: no figures can be computed from them"):
        replay(tmp_path)


def test_a_log_whose_scenario_lacks_something_is_a_sentence(tmp_path):
    begin = ev.RunStarted(ev.SCHEMA, "0.1.0", False, {"privacy": {"delta": 1e-4}}, [(0, 1)], [1, 1], 2)
    raw, _ = write([(0.0, begin), (2.0, ev.RunFinished([0, 0], "", ""))])
    (tmp_path / "events.jsonl.zst").write_bytes(raw)
    with pytest.raises(LogError, match="its scenario lacks something"):
        replay(tmp_path)
