"""[privacy]: the budget, and which proof or formula turns it into noise."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from simnet.parts.fields import Number, Positive
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
        description="which proof prices Gaussian objective perturbation (PP-ADMM, IPP-ADMM) under `proven`: the "
        "moments of the noise, or the sharper change of variables; docs/privacy.md has both",
    )
