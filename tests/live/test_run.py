from __future__ import annotations

import pytest

from simnet.errors import ScenarioError
from simnet.live.run import check
from tests.worlds import live_world


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"network.pacing": "ideal"}, "no real agent knows"),
        ({"fault": [{"kind": "crash", "agent": 0, "at": 1.0}]}, "break for real"),
        ({"algorithm": {"name": "pdml"}}, "there are no live users"),
        ({"algorithm": {"name": "dp-admm"}, "topology": {"kind": "star", "agents": 3}}, "untrusted hub can be live"),
        ({"network.transport": "reliable"}, "TCP repeats on its own"),
        ({"network.inbox.service": "1 ms"}, "as fast as it can"),
    ],
)
def test_what_cannot_be_live_is_refused_with_the_reason(changes, sentence):
    with pytest.raises(ScenarioError, match=sentence):
        check(live_world(**changes), shim=True)


def test_without_the_shim_the_network_is_what_it_is_and_its_models_do_not_matter():
    check(live_world(**{"network.transport": "reliable", "network.inbox.service": "1 ms"}), shim=False)
