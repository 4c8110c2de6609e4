"""`simnet plan`: files of a user's own become a scenario and a study that answer."""

from __future__ import annotations

import json
import re
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import simnet
from simnet import Scenario, ScenarioError, SimnetError, run
from simnet.build import build
from simnet.planning.feasible import _worst
from simnet.planning.plan import plan
from simnet.studies.reaching import reach
from tests.called import called


@pytest.fixture
def files(tmp_path, monkeypatch) -> Path:
    """A table with categories and blanks, a graph with names and some latencies, and a trace in milliseconds."""
    rng = np.random.default_rng(1)
    kind, load = rng.choice(["pump", "fan"], 600), rng.normal(size=600)
    worn = load + np.where(kind == "pump", 1.0, -1.0) + 0.3 * rng.normal(size=600) > 0
    cells = [
        f"M{k};{kind[k]};{'' if k % 20 == 0 else f'{load[k]:.2f}'.replace('.', ',')};{'yes' if worn[k] else 'no'}"
        for k in range(600)
    ]
    (tmp_path / "readings.csv").write_text("\n".join(["id;machine;load;worn", *cells]) + "\n")
    graph = nx.relabel_nodes(nx.cycle_graph(4), dict(enumerate(["north", "east", "south", "west"])))
    graph.edges["north", "east"]["latency_ms"] = 4.0
    nx.write_graphml(graph, tmp_path / "mesh.graphml")
    pings = [f"{k},{30 + k % 7}" for k in range(50)]
    (tmp_path / "pings.csv").write_text("\n".join(["time_s,rtt_ms", *pings]) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


ASKED = {"graph": "mesh.graphml", "trace": "pings.csv", "loss": "5%", "burst": 3.0, "skew": 1.0, "epsilon": 4.0}
SMALL = {"methods": ["pp-admm", "one-shot"], "rounds": 8, "seeds": 2}
WORDS = ("--graph", "mesh.graphml", "--trace", "pings.csv", "--loss", "5%", "--burst", "3", "--skew", "1")


def test_files_and_a_question_become_an_answer(files):
    found = plan("readings.csv", target=0.45, **ASKED, **SMALL)
    scenario, study = found.write()
    made = simnet.study(study, files / "results", workers=1)
    assert made.failures["error"].to_list() == []
    assert made.runs.height == found.runs == 2 * len(found.settings)
    assert made.target == 0.45
    assert reach(made, made.target).answer().startswith("The least cost of a test error of 0.45 at a proven ε")
    assert run(Scenario.load(scenario)).summary["agents"] == 4


def test_what_the_table_needs_is_found(files):
    data = plan("readings.csv", target=0.3, **ASKED, **SMALL).scenario.content()["data"]
    assert data == {
        "source": "readings.csv",
        "label": "worn",
        "decimal": ",",
        "drop": ["id"],
        "categorical": "text",
        "missing": "category",
        "partition": "skewed",
        "concentration": 1.0,
        "min_rows": 12,
    }


def test_units_come_from_headings_and_the_period_from_the_delays(files):
    scenario = plan("readings.csv", target=0.3, **ASKED, **SMALL).scenario
    latency = scenario.content()["network"]["link"]["latency"]
    assert latency == {
        "kind": "trace",
        "file": "pings.csv",
        "unit": "ms",
        "round_trip": True,
        "time_unit": "s",
    }
    # Half of at most 36 ms there and back.
    assert scenario.network.pacing.tick == 0.02
    assert scenario.privacy.delta == 1e-3, "below one over 480 rows"


def test_a_trace_that_does_not_say_what_it_counts_is_refused(files):
    Path("pings.csv").write_text("30\n31\n32\n")
    with pytest.raises(SimnetError, match="nothing says what its delays count, and half of them are above 31"):
        plan("readings.csv", target=0.3, **ASKED, **SMALL)
    told = plan("readings.csv", target=0.3, trace_unit="ms", **ASKED, **SMALL)
    assert told.scenario.content()["network"]["link"]["latency"] == {
        "kind": "empirical",
        "file": "pings.csv",
        "unit": "ms",
    }


def test_what_ping_printed_is_a_trace_that_says_its_unit_itself(files):
    answers = [f"64 bytes from 192.0.2.7: icmp_seq={k} ttl=57 time={20 + k % 7}.5 ms" for k in range(1, 60) if k % 9]
    Path("ping.txt").write_text("\n".join(["PING relay (192.0.2.7) 56(84) bytes of data.", *answers]) + "\n")
    found = plan("readings.csv", target=0.3, **(ASKED | SMALL | {"trace": "ping.txt"}))
    said = {"kind": "trace", "file": "ping.txt", "unit": "ms", "round_trip": True}
    assert found.scenario.content()["network"]["link"]["latency"] == said
    assert found.facts["what there is"]["trace"] == "ping.txt: 53 of 59 pings answered, there and back, median 23.5 ms"
    for other in ({"trace_unit": "s"}, {"round_trip": False}):
        with pytest.raises(SimnetError, match="ping counts milliseconds there and back"):
            plan("readings.csv", target=0.3, **(ASKED | SMALL | {"trace": "ping.txt"} | other))


def test_rows_without_a_label_are_left_out_and_blanks_beside_them_stay(files):
    text = Path("readings.csv").read_text().replace(";yes\n", ";\n", 5)
    Path("readings.csv").write_text(text)
    found = plan("readings.csv", target=0.3, **ASKED, **SMALL)
    data = found.scenario.content()["data"]
    assert (data["missing"], data["unlabelled"]) == ("category", "drop")
    assert found.facts["what there is"]["rows without a label"] == "5, left out"
    assert sum(build(found.scenario).learning.rows) == 476, "four of five rows"
    assert any("which rows have one counts as public (data.unlabelled)" in each for each in found.scenario.caveats())


def test_of_three_labels_somebody_says_which_one_counts(files):
    text = Path("readings.csv").read_text().replace(";yes\n", ";soon\n", 50)
    Path("readings.csv").write_text(text)
    with pytest.raises(SimnetError) as refused:
        plan("readings.csv", target=0.3, **ASKED, **SMALL)
    told = r"readings.csv: the column worn has 3 labels \(no \d+, soon 50, yes \d+\); --positive says which .* 'yes'"
    assert re.fullmatch(told, str(refused.value))
    found = plan("readings.csv", target=0.45, positive="no", **ASKED, **SMALL)
    assert found.facts["what there is"]["label"].endswith("; no is +1")
    assert run(found.scenario).summary["accuracy"]["test_error"] < 0.5
    with pytest.raises(SimnetError, match="no label is never; they are no, soon, yes"):
        plan("readings.csv", target=0.3, positive="never", **ASKED, **SMALL)


def test_a_column_of_numbers_is_no_label(files):
    with pytest.raises(SimnetError, match=r"the column load has more than 20 different values.* there are machine"):
        plan("readings.csv", target=0.3, label="load", **ASKED, **SMALL)


def test_all_classes_are_learned_by_a_method_that_takes_them(files):
    text = Path("readings.csv").read_text().replace(";yes\n", ";soon\n", 50)
    Path("readings.csv").write_text(text)
    method = Path(__file__).parents[2] / "scenarios/methods/dp_gossip.py"
    sets = {"data.labels": "class", "task": "multinomial"}
    found = plan("readings.csv", target=0.45, sets=sets, **ASKED, **(SMALL | {"methods": f"{method}:DpGossip"}))
    assert len(found.settings) == 4
    assert found.scenario.learned.word == "multinomial"


def test_two_settings_of_a_method_are_not_nearly_the_same(files):
    found = plan("readings.csv", target=0.3, **ASKED, **(SMALL | {"methods": ["pp-admm", "ipp-admm"]}))
    tried: dict[tuple[str, int], list[float]] = {}
    for each in found.settings:
        if not each.control:
            tried.setdefault((each.method, each.rounds), []).append(each.algorithm["eta"])
    assert all(max(etas) >= 2 * min(etas) for etas in tried.values() if len(etas) > 1)


def test_a_trace_that_no_link_would_use_is_refused(files):
    graph = nx.read_graphml("mesh.graphml")
    nx.set_edge_attributes(graph, 4.0, "latency_ms")
    nx.write_graphml(graph, "mesh.graphml")
    with pytest.raises(SimnetError, match="every link of the graph has a latency of its own"):
        plan("readings.csv", target=0.3, **ASKED, **SMALL)


def test_every_setting_keeps_the_budget(files):
    found = plan("readings.csv", target=0.3, **ASKED, **(SMALL | {"methods": None}))
    for each in found.settings:
        built = build(found.scenario.with_(algorithm=each.algorithm, rounds=each.rounds))
        assert built.calibration.noisy
        assert each.seconds == pytest.approx(0.02 * each.rounds)
    methods = dict.fromkeys(each.method for each in found.settings)
    assert [each.method for each in found.settings if each.control] == list(methods)


def test_the_scenario_that_is_written_can_run(files):
    # The η that is enough for few rounds is not enough for all of them.
    found = plan("readings.csv", target=0.3, **(ASKED | {"skew": None}), **(SMALL | {"methods": ["pp-admm"]}))
    assert len({each.algorithm["eta"] for each in found.settings}) > 2
    assert build(Scenario.load(found.write()[0])).scenario.rounds == SMALL["rounds"]


def test_every_setting_keeps_the_budget_under_every_seed(files):
    # A seed deals other rows: the smallest agent may have `min_rows` of them under one seed, and many under another.
    found = plan("readings.csv", target=0.3, **ASKED, **SMALL)
    for seed in range(1, 9):
        for each in found.settings:
            build(found.scenario.with_(seed=seed, algorithm=each.algorithm, rounds=each.rounds))


def test_no_run_sends_more_in_values_than_the_plan_says(files):
    found = plan("readings.csv", target=0.3, **(ASKED | {"loss": None, "burst": None}), **SMALL)
    for each in found.settings:
        made = run(found.scenario.with_(algorithm=each.algorithm, rounds=each.rounds))
        notices = sum(event.wire_bytes for _, _, event in made.events if getattr(event, "kind", "value") == "notice")
        assert made.summary["communication"]["wire_bytes"] - notices <= each.bytes, each


def test_a_budget_that_no_method_can_keep_says_why(files):
    with pytest.raises(
        ScenarioError, match=r"no method can keep ε = 4 here: dp-admm: .* computes at the hub of a star"
    ):
        plan("readings.csv", target=0.3, **ASKED, **(SMALL | {"methods": ["dp-admm"]}))


def test_the_budget_is_asked_of_the_worst_agents_and_of_as_many_others_as_there_are(files):
    built = build(plan("readings.csv", target=0.3, **ASKED, **SMALL).scenario)
    asked = _worst(built)
    assert len(asked) == built.agents == 4
    assert min(size.rows for size in asked) == 12, "min_rows, which some seed may deal"
    assert 480 - 4 < sum(size.rows for size in asked) <= 480


def test_a_budget_of_next_to_nothing_is_refused_in_a_sentence(files):
    with pytest.raises(SimnetError, match=r"one-shot: privacy\.epsilon = 1e-06: .*nothing is left beside the moments"):
        plan("readings.csv", target=0.3, **(ASKED | {"epsilon": 1e-6}), **(SMALL | {"methods": ["one-shot"]}))


def test_a_target_below_the_optimum_or_above_a_constant_answer_is_refused(files):
    with pytest.raises(SimnetError, match=r"--target 0\.001: the optimum of all rows without privacy errs 0\."):
        plan("readings.csv", target=0.001, **ASKED, **SMALL)
    with pytest.raises(SimnetError, match=r"--target 0\.6: a constant answer errs 0\.\d+ already"):
        plan("readings.csv", target=0.6, **ASKED, **SMALL)


def test_each_field_has_a_comment_that_says_why(files):
    text = next(iter(plan("readings.csv", target=0.3, **ASKED, **SMALL).files.values()))
    for reason in ("numbers have a comma", "id only tell rows apart", "blank cells: load 30", "words: machine"):
        assert reason in text
    assert "below one over the 480 training rows" in text
    assert "99 of 100 values arrive within 18" in text
    assert all("#" in line or line.startswith(("[", "source", "kind", "name")) for line in text.splitlines() if line)


def test_nothing_is_written_over_and_nothing_half(files):
    words = ("plan", "readings.csv", *WORDS, "--target", "0.3", "--epsilon", "4", "--methods", "pp-admm")
    Path("readings-study.toml").write_text("mine")
    code, _, why = called(*words)
    assert (code, why) == (
        2,
        "readings-study.toml exists already: choose another --name, or --force to replace it",
    )
    assert not Path("readings.toml").exists()
    assert called(*words, "--force")[0] == 0
    assert Scenario.load("readings.toml").algorithm.name == "pp-admm"


def test_the_command_says_what_there_is_what_is_feasible_and_what_comes_next(files):
    words = ("plan", "readings.csv", *WORDS, "--target", "0.3", "--epsilon", "4", "--methods", "pp-admm,pdml,dp-admm")
    code, out, err = called(*words)
    assert code == 0
    for told in ("600", "load 30", "1 links have one in the graph, and 3 have that of the trace", "pp-admm (no noise)"):
        assert told in out
    assert "now: simnet sweep readings-study.toml; then: simnet reach results/readings for the answer" in out
    assert err.startswith("dp-admm cannot run here: ")
    told = json.loads(called(*words, "--json", "--name", "other")[1])
    assert told["files"] == ["other.toml", "other-study.toml"]
    assert told["runs"] == 5 * len(told["settings"])
    assert told["refused"].keys() == {"dp-admm"}


def test_the_tables_fit_a_terminal_of_80_columns(files, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = called("plan", "readings.csv", *WORDS, "--target", "0.3", "--epsilon", "4", "--methods", "pp-admm")[1]
    table = [line for line in out.splitlines() if line[:1] in "│┃┏└┡"]
    assert table
    assert max(map(len, table)) <= 80


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"graph": None}, "--graph or --agents: say which graph there is"),
        ({"graph": "no.graphml"}, "--graph no.graphml: there is no such file"),
        ({"loss": None}, "--burst: says how losses come together"),
        ({"loss": "150%"}, 'network.link.loss.rate = "150%": a probability lies between 0 and 1'),
        ({"trace": "no.csv"}, "--trace no.csv: cannot be read"),
        ({"label": "wear"}, "readings.csv: data.label = 'wear': no column is called that"),
        ({"methods": ["pp-adm"]}, "did you mean pp-admm"),
    ],
)
def test_what_is_wrong_is_one_sentence(files, changed, why):
    with pytest.raises(SimnetError, match=r"^[^\n]*$") as caught:
        plan("readings.csv", target=0.3, **(ASKED | SMALL | changed))
    assert why in str(caught.value)


def test_a_data_set_that_simnet_knows_needs_no_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = plan("adult", target=0.2, agents=3, rounds=4, seeds=1, methods=["pp-admm"], sets={"data.train": 2000})
    assert found.scenario.data.train == 2000
    with pytest.raises(SimnetError, match="adlut: there is no such file, and simnet knows no such data set"):
        plan("adlut", target=0.2, agents=3)


def test_in_a_notebook_a_plan_is_a_line_or_a_small_table(files):
    found = simnet.plan("readings.csv", target=0.3, **ASKED, **SMALL)
    assert repr(found) == f"Plan('readings', {len(found.settings)} settings, {found.runs} runs)"
    assert found._repr_html_().count("<table>") == 2
    assert len(found._repr_html_()) < 10_000
