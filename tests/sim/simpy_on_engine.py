"""A pytest plugin: whoever asks SimPy for an environment gets that of an engine."""

import simpy

from simnet.record.bus import Bus
from simnet.sim.engine import VirtualEngine

STOCK = simpy.Environment


def environment() -> simpy.Environment:
    simpy.Environment = STOCK
    try:
        return VirtualEngine({}, Bus(), scoreboard=None, agents=1).env
    finally:
        simpy.Environment = environment


simpy.Environment = environment
