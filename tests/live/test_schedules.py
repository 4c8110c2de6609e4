"""Whole deployments on virtual machines: hundreds of schedules of faults, and thousands of new ones on demand."""

from __future__ import annotations

import secrets
from collections import Counter

import pytest

from tests.conftest import PROFILE
from tests.live.schedules import STEPS, Deployment, play, play_all
from tests.live.virtual_machine import VirtualMachine
from tests.portions import EVERYTHING

PARTS = 20
EACH = 25 if PROFILE == "steady" else 500
"""500 schedules that are always the same, or 10,000 new ones."""

WHAT_HAPPENS = ("killed at", "the power goes", "put back", "No space left", "disk lies", "waits for", "holds round")


@pytest.mark.parametrize("part", range(PARTS))
def test_no_schedule_of_faults_breaks_a_law(part):
    first = part * EACH if PROFILE == "steady" else secrets.randbelow(2**48)
    play_all(range(first, first + EACH))


class DiesAgain(Deployment):
    """Agent 0 is killed at one step, and at another one of its next life its power goes; nothing else fails."""

    def __init__(self, killed: int, cut: int) -> None:
        super().__init__(next(seed for seed in range(100) if Deployment(seed).own_noise))
        self.ends, self.network.faulty = [killed, cut], 0.0

    def _boot(self, agent: int) -> VirtualMachine:
        ends_at, power = (self.ends.pop(0), not self.ends) if agent == 0 and self.ends else (0, False)

        def doom(machine: VirtualMachine) -> bool:
            if machine.steps < ends_at or not ends_at:
                return False
            machine.die(silently=power)
            if power:
                self.disks[agent].lose_power()
            return True

        return VirtualMachine(agent, self.disks[agent], self.network, 0.0, doom)


@pytest.mark.parametrize("killed", range(1, STEPS if EVERYTHING else 13))
def test_an_agent_whose_power_goes_while_it_recovers_goes_on(killed):
    """What its first life wrote and never called safe is gone then: nothing may have been built on it."""
    for cut in range(1, 9):
        deployment = DiesAgain(killed, cut)
        deployment.play()
        assert deployment.finished == {0, 1, 2}


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
