"""[privacy] and [log]: what may be known, and what is written down."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from simnet.parts.fields import Number, Positive, Share, Switch
from simnet.parts.part import Section

Delta = Annotated[
    float, BeforeValidator(Number("a number strictly between 0 and 1", 0, 1, open_low=True, open_high=True))
]


class Privacy(Section):
    """The budget of every agent's data, against an eavesdropper on all links."""

    epsilon: Positive = Field(1.0, description="ε, the budget for the whole run")
    delta: Delta = Field(1e-4, description="δ, the probability with which ε may fail")
    calibration: Literal["proven", "paper", "none"] = Field(
        "proven", description="noise that meets ε by a proof, noise by the paper's formulas, or no noise at all"
    )
    bound: Literal["moments", "transport"] = Field(
        "moments",
        description="which proof prices objective perturbation in pp-admm and ipp-admm under `proven`: the moments of "
        "the noise, or the sharper change of variables; docs/privacy.md has both",
    )


Family = Literal[
    "round",
    "solve",
    "svt",
    "release",
    "privacy",
    "broadcast",
    "reports",
    "message",
    "value",
    "dual",
    "fault",
    "evaluation",
]
"""The first word of an event's kind."""


class Log(Section):
    """What the event log holds. Thinning it changes nothing about the run and its figures."""

    private: Switch = Field(
        False,
        description="also write what nobody may know: unreleased figures and raw query values; for debugging",
    )
    kinds: tuple[Family, ...] | None = Field(
        None, description="write only these kinds of events, by their first word; absent: all"
    )
    sample: Share | None = Field(
        None, description="write only the events of about this share of the agents, with the fates of what they sent"
    )
