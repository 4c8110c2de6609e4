import json

import pytest

from simnet.errors import LogError
from simnet.record import events as ev
from simnet.record.replay import replay
from tests.record.stories import lawful, start, store, write


@pytest.fixture
def run(tmp_path):
    return store(lawful(agents=4, rounds=4), tmp_path)


def edit(path, change):
    summary = json.loads(path.read_bytes())
    change(summary)
    path.write_text(json.dumps(summary))


def test_the_log_alone_gives_the_stored_figures(run):
    report = replay(run)
    assert report.ok
    assert report.digest.startswith(run.name)
    assert report.events == len(lawful(agents=4, rounds=4))


def test_the_time_it_took_does_not_matter(run):
    edit(run / "summary.json", lambda summary: summary["time"].update(wall=1e9))
    assert replay(run).ok


def test_a_figure_that_was_changed_is_named_with_both_values(run):
    edit(run / "summary.json", lambda summary: summary["communication"].update(lost=0))
    (finding,) = replay(run).findings
    lost = sum(isinstance(event, ev.MessageLost) for _, event in lawful(agents=4, rounds=4))
    assert finding == f"summary.json: communication.lost is 0, the log gives {lost}"


def test_figures_that_are_missing_or_new_are_named(run):
    edit(run / "summary.json", lambda summary: (summary["staleness"].pop("mean"), summary.update(beauty=10)))
    first, second = replay(run).findings
    assert first.startswith("summary.json: staleness.mean is missing, the log gives ")
    assert second == "summary.json: beauty is 10, the log gives missing"


def test_a_changed_cell_of_a_table_is_named(run):
    for name, row in (("rounds.csv", "round 2"), ("agents.csv", "agent 1")):
        rows = (run / name).read_text().splitlines()
        column = rows[0].split(",").index("messages")
        cells = rows[2].split(",")
        true, cells[column] = cells[column], "999"
        rows[2] = ",".join(cells)
        (run / name).write_text("\n".join(rows) + "\n")
        assert f"{name}, {row}: messages is 999, the log gives {true}" in replay(run).findings


def test_rows_and_columns_that_are_not_there_are_missed(run):
    text = (run / "rounds.csv").read_text()
    (run / "rounds.csv").write_text("".join(text.splitlines(keepends=True)[:-1]))
    assert replay(run).findings == ("rounds.csv: there are 3 rows, the log gives 4",)
    (run / "rounds.csv").write_text(text.replace("train_loss", "loss"))
    assert replay(run).findings == ("rounds.csv: the columns are not those that the log gives",)
    (run / "rounds.csv").write_text(text)
    assert replay(run).ok


def test_the_last_bits_of_a_figure_do_not_matter(run):
    edit(
        run / "summary.json",
        lambda summary: summary["staleness"].update(mean=summary["staleness"]["mean"] * (1 + 1e-14)),
    )
    assert replay(run).ok


@pytest.mark.parametrize("name", ["summary.json", "rounds.csv", "agents.csv"])
@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe\x00", b"{"])
def test_a_broken_or_missing_file_is_a_finding(run, name, content):
    (run / name).unlink()
    if content is not None:
        (run / name).write_bytes(content)
    (finding,) = replay(run).findings
    assert name in finding


def test_many_findings_are_cut(run):
    text = (run / "rounds.csv").read_text()
    head, *rows = text.splitlines()
    (run / "rounds.csv").write_text("\n".join([head, *(",".join(["7"] * len(row.split(","))) for row in rows)]) + "\n")
    findings = replay(run).findings
    assert len(findings) == 21
    assert findings[-1].startswith("and ")


def test_a_damaged_log_gives_no_figures(run):
    log = run / "events.jsonl.zst"
    log.write_bytes(log.read_bytes()[:-1])
    with pytest.raises(LogError, match=r"^cut short"):
        replay(run)


@pytest.mark.parametrize(
    "event", [ev.RoundStarted, ev.BroadcastSent(9, 1, 16), ev.PrivacySpent(0, 1, "release", "hope", {})]
)
def test_a_log_that_makes_no_sense_is_a_sentence(tmp_path, event):
    begin = start(2, [(0, 1)])
    if event is ev.RoundStarted:
        begin, event = ev.RunStarted(ev.SCHEMA, "0.1.0", False, {}, [(0, 1)], [1, 1], 2), event(0, 1)
    raw, _ = write([(0.0, begin), (1.0, event), (2.0, ev.RunFinished([0, 0], "", ""))])
    (tmp_path / "events.jsonl.zst").write_bytes(raw)
    with pytest.raises(LogError, match=r"event [12], .*: no figures can be computed from it"):
        replay(tmp_path)


def test_a_log_whose_scenario_lacks_something_is_a_sentence(tmp_path):
    begin = ev.RunStarted(ev.SCHEMA, "0.1.0", False, {"privacy": {"delta": 1e-4}}, [(0, 1)], [1, 1], 2)
    raw, _ = write([(0.0, begin), (2.0, ev.RunFinished([0, 0], "", ""))])
    (tmp_path / "events.jsonl.zst").write_bytes(raw)
    with pytest.raises(LogError, match="its scenario lacks something"):
        replay(tmp_path)
