"""When agents and links are up, by a file."""

from __future__ import annotations

from itertools import islice, takewhile
from math import inf

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet import ScenarioError
from simnet.network.timetables import gaps, read_timetable, up_share


def timetable(tmp_path, text: str, ends: int = 1, unit=None, edges=None):
    (tmp_path / "up.csv").write_text(text)
    return read_timetable(tmp_path / "up.csv", "fault.0.file", ends, unit, edges or nx.path_graph(3))


def test_a_file_has_an_interval_per_line_with_or_without_headings(tmp_path):
    plain = {(0,): [(1.0, 2.0), (3.0, inf)], (2,): [(0.0, 9.5)]}
    assert timetable(tmp_path, "0,1,2\n2,0,9.5\n0,3,\n") == plain
    assert timetable(tmp_path, "agent,from,to\n0,1,2\n2,0,9.5\n0,3,\n") == plain
    assert timetable(tmp_path, "agent,from_ms,to_ms\n1,500,2000\n", unit="ms") == {(1,): [(0.5, 2.0)]}


def test_a_link_may_be_named_either_way_round(tmp_path):
    assert timetable(tmp_path, "1,0,1,2\n0,1,5,6\n", ends=2) == {(0, 1): [(1.0, 2.0), (5.0, 6.0)]}


def test_agents_go_by_the_names_of_the_topology_too(tmp_path):
    edges = nx.path_graph(2)
    edges.nodes[0]["name"], edges.nodes[1]["name"] = "Oslo", "Bergen"
    assert timetable(tmp_path, "Bergen,1,2\n0,3,4\n", edges=edges) == {(1,): [(1.0, 2.0)], (0,): [(3.0, 4.0)]}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "holds no interval; a line is agent, from, to"),
        ("agent,from,to\n", "holds no interval"),
        ("0,1\n", "line 1 is not agent, from, to"),
        ("0,1,2\n0,x,3\n", "line 2 is '0,x,3', not agent, from, to"),
        ("0,1,2\n0,3,soon\n", "line 2 is '0,3,soon', not agent, from, to"),
        ("0,1,2\n0,-3,4\n", "line 2 is '0,-3,4', not agent, from, to"),
        ("0,-3,4\n", "line 1 is not agent, from, to"),
        ("0,nan,4\n", "line 1 is not agent, from, to"),
        ("7,1,2\n", "line 1 is about '7', and there is no such agent"),
        ("0,2,2\n", "line 1 ends before it begins"),
        ("0,1,3\n0,2,4\n", "line 2 overlaps an interval above it of the same"),
        ("0,5,6\n0,1,2\n", "line 2 begins before an interval above it of the same; write them in the order of time"),
        ("0,1,\n0,2,3\n", "line 2 overlaps an interval above it of the same"),
        ("agent,from_ms,to_ms\n0,1,2\n", "its numbers are headed 'from_ms': write unit = \"ms\""),
    ],
)
def test_what_is_no_timetable_is_refused_in_a_sentence(tmp_path, text, sentence):
    with pytest.raises(ScenarioError, match=r"fault\.0\.file") as refused:
        timetable(tmp_path, text)
    assert sentence in str(refused.value)


SPANS = st.lists(st.integers(1, 5), min_size=2, max_size=10).map(
    lambda steps: [
        (float(sum(steps[: i + 1]) - steps[0]), float(sum(steps[: i + 2]) - steps[0]))
        for i in range(0, len(steps) - 1, 2)
    ]
)


@given(SPANS, st.one_of(st.none(), st.integers(0, 3)))
def test_at_every_moment_something_is_either_up_or_down(up, spare):
    period = None if spare is None else up[-1][1] + spare
    down = list(takewhile(lambda span: span[0] < 100, islice(gaps(up, period), 200)))
    assert all(start < end for start, end in down)
    for quarter in range(1, 200, 2):
        time = quarter / 4
        within = time if period is None else time % period
        is_up = any(start <= within < end for start, end in up)
        assert is_up != any(start <= time < end for start, end in down)


def test_what_is_always_up_is_never_down():
    assert list(gaps([(0.0, 5.0)], 5.0)) == []
    assert list(gaps([(0.0, inf)], None)) == []
    assert list(gaps([], None)) == [(0.0, inf)]


def test_the_share_of_the_time_up():
    assert up_share([(1.0, 2.0), (4.0, inf)], 8.0) == pytest.approx(5 / 8)
