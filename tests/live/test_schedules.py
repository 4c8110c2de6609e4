"""Whole deployments on virtual machines: hundreds of schedules of faults, and thousands of new ones on demand."""

from __future__ import annotations

import secrets
from collections import Counter

import pytest

from tests.conftest import PROFILE
from tests.live.schedules import play, play_all

PARTS = 20
EACH = 25 if PROFILE == "steady" else 500
"""500 schedules that are always the same, or 10,000 new ones."""

WHAT_HAPPENS = ("killed at", "the power goes", "put back", "No space left", "disk lies", "waits for", "holds round")


@pytest.mark.parametrize("part", range(PARTS))
def test_no_schedule_of_faults_breaks_a_law(part):
    first = part * EACH if PROFILE == "steady" else secrets.randbelow(2**48)
    play_all(range(first, first + EACH))


def test_a_schedule_is_a_function_of_its_seed():
    for seed in (2, 8, 84):
        assert play(seed).trace == play(seed).trace


def test_the_schedules_are_not_idle():
    """What they are for happens in some of the first hundred: otherwise no law was tried."""
    seen = Counter()
    for seed in range(100):
        deployment = play(seed)
        text = "\n".join(deployment.trace)
        for words in (
            "killed at",
            "the power goes",
            "put back",
            "No space left",
            "disk lies",
            "waits for",
            "holds round",
        ):
            seen[words] += words in text
        seen["all finished"] += len(deployment.finished) == 3
    assert min(seen.values()) > 0, seen
    assert seen["all finished"] > 50
