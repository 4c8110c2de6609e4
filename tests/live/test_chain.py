"""The chain of charges and releases: what neighbours remember of it, and what a merged record proves."""

from __future__ import annotations

from hashlib import sha256

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.errors import LiveError
from simnet.live.chain import ORIGIN, Chain, HeldHead, verify
from simnet.live.envelope import Greeting, Refused
from simnet.live.journal import event_body
from simnet.record import events
from simnet.record.lines import parse


def charge(round, sigma=1.0):
    return events.PrivacySpent(0, round, "release", "gaussian-output", {"sigma": sigma, "rows": 7})


def lived(rounds, *, salt=b""):
    """A chain of so many rounds, its links and its events; another salt, other frames."""
    chain, links, told = Chain(0), [], []
    for round in range(1, rounds + 1):
        happened = [charge(round), events.ReleaseMade(0, round, "AAAA")]
        link = chain.next(round, happened, {1: b"frame %d" % round + salt, 2: b"other"})
        chain.add(link)
        links.append(link)
        told += happened
    return chain, links, told


def plainly(before, round, frames, told):
    """The head of a round, written out."""

    def piece(raw):
        return len(raw).to_bytes(8, "little") + raw

    sent = sha256(b"".join(piece(b"%d:" % peer + raw) for peer, raw in sorted(frames.items()))).digest()
    body = piece(before) + piece(str(round).encode()) + piece(sent)
    for event in told:
        body += piece(event.kind.encode() + msgspec.json.encode(event).replace(b'"rows":7', b'"rows":7.0'))
    return sha256(body).digest()


def test_a_head_is_a_hash_over_the_one_before_the_frames_and_what_was_charged():
    chain, links, told = lived(2)

    first = plainly(ORIGIN, 1, {1: b"frame 1", 2: b"other"}, told[:2])
    assert [link.head for link in links] == [first, plainly(first, 2, {2: b"other", 1: b"frame 2"}, told[2:])]
    assert chain.last == 2


def test_an_event_that_was_written_and_read_has_the_same_place_in_the_chain():
    told = [charge(1, sigma=0.1 + 0.2), events.ReleaseMade(0, 1, "AAAA")]
    read = [parse(event_body(0.0, event))[2] for event in told]

    assert Chain(0).next(1, told, {}) == Chain(0).next(1, read, {})


def test_a_neighbour_that_holds_what_the_chain_has_changes_nothing():
    chain, links, _ = lived(3)
    chain.compare(1, Greeting())
    for link in links:
        chain.compare(1, Greeting(1, link.round, link.head))


def test_a_neighbour_that_holds_a_later_round_stops_the_agent():
    _, links, _ = lived(9)
    chain, _, _ = lived(4)

    with pytest.raises(
        LiveError, match=r"agent 2 holds round 9 .* journal ends with round 4: the state folder is older"
    ):
        chain.compare(2, Greeting(1, 9, links[-1].head))


def test_a_neighbour_that_holds_another_history_stops_the_agent():
    _, links, _ = lived(4, salt=b"!")
    chain, _, _ = lived(9)

    with pytest.raises(LiveError, match="two copies of one state folder"):
        chain.compare(2, Greeting(1, 4, links[-1].head))


def test_a_greeting_tells_the_latest_round_whatever_the_order_of_arrival():
    chain = Chain(0)
    assert chain.greeting(1, 3) == Greeting(3, 0, ORIGIN)
    for round in (1, 3, 2):
        assert chain.hold(HeldHead(1, round, bytes([round]) * 32))
        assert not chain.hold(HeldHead(1, round, bytes([round]) * 32)), "the same once more is no news"

    assert chain.greeting(1, 3) == Greeting(3, 3, b"\3" * 32)
    assert chain.greeting(2, 0) == Greeting()


def test_a_round_that_comes_with_another_head_is_refused_as_forked():
    chain = Chain(0)
    chain.hold(HeldHead(1, 5, b"a" * 32))

    with pytest.raises(Refused, match="agent 1 has lived round 5 twice") as refused:
        chain.hold(HeldHead(1, 5, b"b" * 32))
    assert refused.value.reason == "forked"
    assert chain.greeting(1, 0).head == b"a" * 32


def test_a_record_whose_heads_are_all_on_their_chains_is_whole():
    _, links, told = lived(3)
    verify([told, []], [links, []], [[], [HeldHead(0, link.round, link.head) for link in links]])


def test_a_charge_of_a_round_that_ended_in_a_crash_is_no_second_release():
    _, links, told = lived(3)
    verify([[*told, charge(4)]], [links], [[]])


@pytest.mark.parametrize("salt", [b"", b"!"])
def test_a_frame_of_a_round_that_is_not_on_the_chain_was_released_twice(salt):
    _, other, _ = lived(5, salt=salt)
    _, links, told = lived(3)

    with pytest.raises(LiveError, match=r"agent 1 holds a frame of round \d of agent 0 .* released twice"):
        verify(
            [told, []], [links, []], [[], [HeldHead(0, other[2 if salt else 4].round, other[2 if salt else 4].head)]]
        )


@given(data=st.data())
def test_no_charge_can_be_added_dropped_or_changed_afterwards(data):
    _, links, told = lived(4)
    place = data.draw(st.integers(0, len(told) - 1))
    change = data.draw(st.sampled_from(["add", "drop", "change", "link"]))
    if change == "add":
        told.insert(place, charge(told[place].round))
    elif change == "drop":
        del told[place]
    elif change == "change":
        told[place] = charge(told[place].round, sigma=2.0)
    else:
        del links[data.draw(st.integers(0, len(links) - 2))]

    with pytest.raises(LiveError, match=r"agent 0's journal: (the charges of round|round)"):
        verify([told], [links], [[]])


def test_a_chain_is_restored_from_a_journal_and_a_journal_without_one_is_refused():
    chain, links, _ = lived(3)
    held = [HeldHead(1, 2, b"h" * 32)]
    again, older = Chain(0), Chain(0)
    again.restore(links, held, 3)

    assert again.heads == chain.heads
    assert again.greeting(1, 0) == Greeting(0, 2, b"h" * 32)
    with pytest.raises(LiveError, match="go on with the version of simnet that kept it"):
        older.restore([], [], 3)
