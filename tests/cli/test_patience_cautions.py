"""`explain` says when agents lose patience before a lost message is sent again."""

from simnet.cli.explain import explain, patience_cautions
from tests.worlds import TICKS, world


def test_the_default_patience_ends_before_a_repetition():
    scenario = world(**{"network.pacing": "barrier", "network.transport": "reliable"})
    (sentence,) = patience_cautions(scenario)
    assert sentence.startswith("the patience of 1 s ends before a lost message of one packet is sent again")
    assert explain(scenario)["traffic"]["caution"] == sentence


def test_nobody_is_cautioned_who_waits_longer_or_not_at_all():
    for pacing in ({"kind": "barrier", "patience": 5.0}, TICKS, "ideal"):
        assert patience_cautions(world(**{"network.pacing": pacing, "network.transport": "reliable"})) == []
