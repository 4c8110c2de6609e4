"""[algorithm]: the method, with the parameters that it has and no others."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from simnet.scenario.fields import Count, NonNegative, Positive, Section, Share


class _Decentralised(Section):
    """What every decentralised ADMM has."""

    eta: Positive = Field(0.01, description="η, the penalty")
    regulariser: NonNegative = Field(1e-4, description="λ̂/N, the weight of ½|θ|² in one agent's objective")
    loss: Literal["logistic", "smoothed-hinge"] = Field("logistic", description="loss of one row")
    duals: Literal["node"] = Field("node", description="how duals are kept: `node` as in the papers")


class Admm(_Decentralised):
    """Decentralised ADMM without privacy."""

    name: Literal["admm"]
    tolerance: Positive = Field(1e-6, description="β, the gradient norm at which a local solve may stop")


class PpAdmm(_Decentralised):
    """PP-ADMM: Gaussian objective perturbation and Gaussian output perturbation of an approximate minimiser."""

    name: Literal["pp-admm"]
    tolerance: Positive | None = Field(
        None,
        description="β, the gradient norm at which a local solve may stop; default: 10^-3.5 under `paper`, "
        "chosen by the calibration under `proven`",
    )
    output_share: Share | None = Field(
        None,
        description="share of a release's ρ spent on output noise (the paper's splits); default: 0.001 under "
        "`paper`, chosen under `proven`",
    )
    objective_share: Share = Field(0.99, description="ε_i3/ε_i1 of the paper's calibration")


class IppAdmm(PpAdmm):
    """IPP-ADMM: PP-ADMM that broadcasts only when a sparse vector test finds the update worth it."""

    name: Literal["ipp-admm"]  # type: ignore[assignment]
    max_releases: Count = Field(15, description="c, the most releases an agent may make")
    threshold: NonNegative = Field(1e-3, description="α, the improvement that makes a broadcast worthwhile")
    clip: Positive = Field(2.0, description="C_loss, the most that one row's loss counts in the test")
    test_share: Share | None = Field(
        None,
        description="share of the budget spent on the test; default: 0.1 under `paper`, chosen under `proven`",
    )
    sensitivity: Literal["per-row", "printed"] = Field(
        "per-row", description="`paper` calibration: noise of the test for 2C/m (`per-row`) or 2C (`printed`)"
    )
    threshold_noise: Literal["once", "redrawn"] = Field(
        "once",
        description="`paper` calibration: the threshold's noise is drawn once, or `redrawn` each round",
    )
    test: Literal["noise-free", "shared-noise"] | None = Field(
        None,
        description="what is tested: the minimiser without noise (`noise-free`, default under `proven`), or the perturbed "
        "one that is then released (`shared-noise`: the paper; under `proven` every round then costs)",
    )


Algorithm = Annotated[Admm | PpAdmm | IppAdmm, Field(discriminator="name")]
