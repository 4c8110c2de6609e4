"""The engine against its specification; `test_random_networks` compares the two on many more networks."""

from __future__ import annotations

import pytest

from simnet.audit import load_audit
from tests.portions import some
from tests.scenarios.test_digests import DIGESTS, SCENARIOS
from tests.sim.reference_engine import reference_digest


@pytest.mark.parametrize("name", some(DIGESTS, 3))
def test_a_shipped_scenario_has_the_same_digest_on_the_reference_engine(name):
    path, _, method = name.partition(" as ")
    scenario = load_audit(SCENARIOS / path)[0]
    if scenario.network.channel is not None:
        pytest.skip("the specification has no shared channel; tests/sim/test_stations.py has its theory")
    if scenario.network.underlay is not None:
        pytest.skip("the specification has no underlay; tests/sim/store_and_forward.py is another one")
    assert reference_digest(scenario.with_method(method) if method else scenario) in DIGESTS[name]
