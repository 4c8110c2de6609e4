"""From a study to its runs."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simnet import Scenario
from simnet import run as simulate
from simnet.build import build
from simnet.simulate import peers_of
from simnet.studies.runs import plan, resolve
from simnet.studies.spec import Study
from tests.worlds import STUDIED, study_content

VALUES = {
    "algorithm.eta": [0.01, 0.02, 0.05, 0.1],
    "network.link.loss": [0.0, 0.1, "none", {"kind": "bernoulli", "p": 0.3}],
    "topology.agents": [3, 4, 5],
    "rounds": [1, 2, 3],
}
grids = st.dictionaries(st.sampled_from(list(VALUES)), st.integers(1, 2)).map(
    lambda chosen: {field: VALUES[field][:count] for field, count in chosen.items()}
)


@settings(deadline=None, max_examples=25)
@given(grid=grids, seeds=st.integers(1, 3))
def test_a_grid_has_every_combination_once_and_for_every_seed(grid, seeds):
    runs = plan(Study.of(study_content(grid=grid, replicates=seeds)))
    assert len(runs) == seeds * prod(len(values) for values in grid.values())
    assert len({run.key for run in runs}) == len(runs)
    assert [run.number for run in runs] == list(range(len(runs)))


@settings(deadline=None, max_examples=25)
@given(grid=grids, data=st.data())
def test_the_order_of_a_study_changes_the_order_of_its_runs_and_nothing_else(grid, data):
    fields = data.draw(st.permutations(list(grid)))
    turned = {field: data.draw(st.permutations(grid[field])) for field in fields}
    keys = {run.key for run in plan(Study.of(study_content(grid=grid)))}
    assert {run.key for run in plan(Study.of(study_content(grid=turned)))} == keys


def test_lists_that_go_together_do_not_multiply():
    zipped = [{"rounds": [1, 2], "algorithm.duals": ["node", "edge"]}]
    runs = plan(Study.of(study_content(grid={"topology.agents": [3, 5]}, zip=zipped, replicates=1)))
    found = [(run.scenario.topology.agents, run.scenario.rounds, run.scenario.algorithm.duals) for run in runs]
    assert found == [(3, 1, "node"), (3, 2, "edge"), (5, 1, "node"), (5, 2, "edge")]


@pytest.mark.parametrize("method", ["admm", "pp-admm", "ipp-admm", "dvp", "r-admm"])
def test_another_method_keeps_the_parameters_that_it_has_as_with_method_does(method):
    base = Scenario.of(STUDIED | {"algorithm": {"name": "ipp-admm", "eta": 0.03, "clip": 1.5, "output_share": 0.2}})
    assert resolve(base, {"algorithm.name": method}) == base.with_method(method)


def test_another_topology_drops_what_it_does_not_have():
    base = Scenario.of(STUDIED | {"topology": {"kind": "random", "agents": 6, "mean_degree": 2.5}})
    found = resolve(base, {"topology.kind": "star", "topology.agents": 9}).topology
    assert (found.kind, found.agents) == ("star", 9)


def test_a_field_that_a_method_does_not_have_is_empty_and_a_default_is_told():
    methods = [{"name": "admm"}, {"name": "ipp-admm", "clip": 1.0}, {"name": "ipp-admm"}]
    runs = plan(Study.of(study_content(grid={"algorithm": methods}, replicates=1)))
    assert [run.settings["algorithm.clip"] for run in runs] == [None, 1.0, 2.0]


def test_settings_that_differ_share_their_seeds():
    runs = plan(Study.of(study_content()))
    by_eta: dict[float, list[int]] = {}
    for run in runs:
        by_eta.setdefault(run.scenario.algorithm.eta, []).append(run.scenario.seed)
    assert set(map(tuple, by_eta.values())) == {(1, 2)}


def test_settings_do_not_share_their_noise_unless_the_study_says_so():
    """Two releases with the same noise differ by what the data do: the smaller ε of the two is lost."""

    def noises(**more):
        content = study_content(grid={"privacy.epsilon": [1.0, 2.0]}, replicates=2) | more
        content["scenario"] = content["scenario"] | {"algorithm": {"name": "pp-admm", "eta": 0.5}}
        return [tuple(peers_of(build(run.scenario))[0].draw()) for run in plan(Study.of(content))]

    assert len(set(noises())) == 4
    shared = noises(common_noise=True)
    assert shared[0] == shared[2]
    assert shared[1] == shared[3]


def test_a_run_of_a_study_can_be_repeated_from_its_own_scenario():
    content = study_content(grid={"privacy.epsilon": [1.0, 2.0]}, replicates=1)
    for planned in plan(Study.of(content)):
        assert simulate(planned.scenario).digest == simulate(Scenario.of(planned.scenario.resolved())).digest
