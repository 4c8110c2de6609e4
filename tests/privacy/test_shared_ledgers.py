"""Ledgers of many agents: what one agent's says is what a ledger of its own would say."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simnet.privacy.ledger import Charge, Ledger
from simnet.privacy.shared_ledgers import SharedLedgers

DELTA, AGENTS = 1e-4, 4
CHARGES = [
    Charge.of("noisy-gradient", {"rows": 300.0, "gradient_bound": 1.0, "sigma": sigma}) for sigma in (0.02, 0.05)
]
PAYMENTS = st.lists(
    st.tuples(st.sets(st.integers(0, AGENTS - 1), min_size=1), st.lists(st.sampled_from(CHARGES), max_size=2))
)


@given(payments=PAYMENTS, budget=st.sampled_from([0.5, 2.0, np.inf]), few=st.sampled_from([0, 2, 1024]))
def test_agents_that_share_ledgers_spend_as_if_each_had_its_own(payments, budget, few):
    shared, own = SharedLedgers(AGENTS, DELTA, budget), [Ledger(DELTA, budget) for _ in range(AGENTS)]
    shared._most = few
    for agents, charges in payments:
        places = np.array(sorted(agents))
        alone = [own[agent].afford(*charges) for agent in places.tolist()]
        if len(agents) == 1:
            assert [shared.spend(int(places[0]), charges)] == alone
        else:
            assert shared.spend_all(places, charges).tolist() == alone
    assert [shared[agent].state for agent in range(AGENTS)] == [ledger.state for ledger in own]
    assert [ledger.state for ledger in shared.in_use()] == list(dict.fromkeys(ledger.state for ledger in own))
    everybody = np.arange(AGENTS)
    found = {place: ledger.state for ledger, places in shared.by_kind(everybody) for place in places.tolist()}
    assert found == {agent: ledger.state for agent, ledger in enumerate(own)}


def test_a_ledger_that_nobody_has_any_more_is_forgotten():
    ledgers = SharedLedgers(2, DELTA)
    for step in range(3_000):
        sigma = 0.02 * (1 + step)
        ledgers.spend(0, [Charge.of("noisy-gradient", {"rows": 300.0, "gradient_bound": 1.0, "sigma": sigma})])
    assert len(ledgers._kinds) < 1_100
