"""What a link is like: one frozen record from which links are built."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Literal

from simnet.errors import ScenarioError
from simnet.network.checks import not_negative, positive, probability
from simnet.network.latency import Constant, Latency
from simnet.network.loss import Loss, NoLoss
from simnet.network.queueing import Queue

Order = Literal["fifo", "free"]


@dataclass(frozen=True)
class LinkModel:
    """One direction of a link; the default is a perfect one.

    `bandwidth` is in bits a second, None for a line that takes no time. A packet has at most `mtu` bytes, of which
    `overhead` are not the message's; None cuts nothing. Under the order "fifo" a message that would overtake an earlier
    one arrives together with it, under "free" it overtakes. `corruption` is a probability a packet, `duplication` a
    probability a message.
    """

    latency: Latency = field(default_factory=Constant)
    loss: Loss = field(default_factory=NoLoss)
    bandwidth: float | None = None
    queue: Queue = field(default_factory=Queue)
    mtu: int | None = None
    overhead: int = 0
    order: Order = "fifo"
    duplication: float = 0.0
    corruption: float = 0.0

    def __post_init__(self) -> None:
        if self.bandwidth is not None:
            positive("bandwidth", self.bandwidth)
        not_negative("overhead", self.overhead)
        if self.mtu is not None and not self.overhead < self.mtu < inf:
            raise ScenarioError(
                f"mtu = {self.mtu}: must be greater than overhead = {self.overhead}, or nothing gets through"
            )
        if self.order not in ("fifo", "free"):
            raise ScenarioError(f"order = {self.order!r}: must be 'fifo' or 'free'")
        probability("duplication", self.duplication)
        probability("corruption", self.corruption)
