"""[algorithm]: the method, with the parameters that it has and no others."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from simnet.parts.fields import Count, NonNegative, Number, Positive, Share
from simnet.parts.part import Section

Decay = Annotated[float, BeforeValidator(Number("a number above 0 and at most 1", 0, 1, open_low=True))]


class _Decentralised(Section):
    """What every decentralised ADMM has."""

    eta: Positive = Field(0.01, description="η, the penalty")
    regulariser: NonNegative = Field(1e-4, description="λ̂/N, the weight of ½|θ|² in one agent's objective")
    loss: Literal["logistic", "smoothed-hinge"] = Field("logistic", description="loss of one row")
    duals: Literal["node", "healing", "edge"] = Field(
        "node",
        description="how duals are kept: `node` as in the papers; `healing` or `edge`, which survive loss",
    )
    heal_every: Count = Field(1, description="`healing`: each so many-th message carries what repairs the duals")


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
    sigma: Positive | None = Field(
        None, description="σ1 of the noise in the objective; ε is then what it comes to; default: from privacy.epsilon"
    )
    output_sigma: Positive | None = Field(
        None, description="σ2 of the noise on the approximate minimiser, named together with sigma"
    )

    @model_validator(mode="after")
    def _both_amounts_of_noise(self) -> PpAdmm:
        if (self.sigma is None) != (self.output_sigma is None):
            raise ValueError("sigma: name output_sigma as well, or neither")
        return self


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
    test_epsilon: Positive | None = Field(
        None, description="ε1 + ε2 of the test, named together with sigma; default: by test_share"
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
        description="what is tested: the minimiser without noise (`noise-free`, default under `proven`), or the "
        "perturbed one that is then released (`shared-noise`: the paper; under `proven` every round then costs)",
    )

    @model_validator(mode="after")
    def _the_test_as_well(self) -> IppAdmm:
        if (self.sigma is None) != (self.test_epsilon is None):
            raise ValueError("test_epsilon: named together with sigma and output_sigma, or not at all")
        return self


class _Scheduled(_Decentralised):
    """What the methods have whose noise has the density exp(−α|n|), by a schedule."""

    noise: Literal["gamma", "gaussian"] = Field(
        "gamma", description="density ∝ exp(−α|n|) as in the papers, or Gaussian noise by the proven bound"
    )
    noise_rate: Positive | None = Field(
        None, description="α of the first round; ε is then what it comes to; default: from privacy.epsilon"
    )
    sigma: Positive | None = Field(
        None,
        description="σ of Gaussian noise in the first round; ε is then what it comes to; default: from privacy.epsilon",
    )
    noise_growth: Positive = Field(1.0, description="q2: α(t) = α q2^(t−1), or σ(t) = σ/q2^(t−1)")
    loss_weight: Positive = Field(1.0, description="C, the weight of the loss against the regulariser")
    tolerance: Positive | None = Field(
        None, description="β, the gradient norm at which a local solve may stop; default: chosen by the calibration"
    )
    output_share: Share | None = Field(
        None,
        description="share of a release's loss that the noise on its approximate minimiser may cost; default: 1e-4 "
        "beside gamma-type noise, 0.01 beside Gaussian",
    )

    @model_validator(mode="after")
    def _one_amount_of_noise(self) -> _Scheduled:
        if self.noise_rate is not None and self.noise == "gaussian":
            raise ValueError("noise_rate: Gaussian noise has a sigma")
        if self.sigma is not None and self.noise == "gamma":
            raise ValueError("sigma: gamma-type noise has a noise_rate")
        return self


class Dvp(_Scheduled):
    """DVP: dual variable perturbation, m-admm with a constant penalty that is also the dual step."""

    name: Literal["dvp"]


class Pvp(_Scheduled):
    """PVP: primal variable perturbation, noise on the minimiser before it is sent."""

    name: Literal["pvp"]


class MAdmm(_Scheduled):
    """M-ADMM: noise inside a penalty that may grow and differ between agents, beside a dual step that may too."""

    name: Literal["m-admm"]
    penalty_growth: Positive = Field(1.0, description="q1: η(t) = η q1^(t−1)")
    dual_step: Positive | None = Field(None, description="θ, the step of the dual update; default: eta")
    dual_growth: Positive = Field(1.0, description="the dual step's growth: θ(t) = θ r^(t−1)")
    agent_eta: tuple[Positive, ...] = Field((), description="η_i(1) of each agent; empty: eta for all")
    agent_growth: tuple[Positive, ...] = Field((), description="q1 of each agent; empty: penalty_growth for all")
    agent_dual_step: tuple[Positive, ...] = Field(
        (),
        description="θ_i(1) of each agent; empty: dual_step for all. Where they differ, the models agree on the "
        "minimiser of Σ f_i/θ_i instead of Σ f_i",
    )
    agent_dual_growth: tuple[Positive, ...] = Field((), description="r of each agent; empty: dual_growth for all")


class RAdmm(_Scheduled):
    """R-ADMM: every other round recycles the gradient of the round before, at no privacy and no gradient."""

    name: Literal["r-admm"]
    gamma: NonNegative = Field(0.2, description="γ, what holds an even round's step back beside the penalty")
    penalty_growth: Positive = Field(1.0, description="η(t) = η q1^(t−1), and γ(t) with it")


class Pdml(_Decentralised):
    """PDML: users report flipped labels to servers, which train together under two kinds of noise."""

    name: Literal["pdml"]
    label_epsilon: Positive | None = Field(
        None, description="ε of randomised response on a label, at the user; default: privacy.epsilon"
    )
    objective_bound: NonNegative = Field(1.0, description="R, bound of the noise in a server's objective, drawn once")
    primal_scale: Positive | None = Field(
        None,
        description="V_i, σ of the noise on a server's first model; default: from privacy.epsilon under `proven`, "
        "1 under `paper`, which has no number",
    )
    primal_decay: Decay = Field(0.8, description="ρ: the variance of that noise is V_i² ρ^(t−1)")
    tolerance: Positive | None = Field(
        None, description="β, the gradient norm at which a local solve may stop; default: chosen by the calibration"
    )


class DpAdmm(Section):
    """DP-ADMM: a hub solves a graph-guided fused lasso by ADMM with noisy gradients; its leaves hold the rows."""

    name: Literal["dp-admm"]
    eta: Positive = Field(10.0, description="η, the step size; a step is η/γ long")
    penalty: Positive = Field(1.0, description="ρ, the penalty on Ax − y")
    gamma: Positive | None = Field(None, description="γ of the proximal term; default: its least value, ηρ|AᵀA| + 1")
    sparsity: NonNegative = Field(1e-5, description="λ1, the weight of |Ax|_1")
    graph: Literal["public", "none"] = Field(
        "public",
        description="A = [W; I]: W joins features that are conditionally dependent in public rows, see graph_share; "
        "`none`: A = I, the plain lasso",
    )
    graph_share: Share = Field(
        0.2,
        description="share of the rows outside the training set whose features count as public; they give the graph "
        "and are not tested on",
    )
    graph_penalty: Share = Field(0.2, description="weight of the graphical lasso that finds W, on correlations")
    hub: Literal["trusted", "untrusted"] = Field(
        "trusted",
        description="`trusted`: leaves upload their rows once and the hub adds the noise; `untrusted`: every leaf "
        "sends a noisy gradient a round",
    )
    sigma: Positive | None = Field(
        None, description="σ of the noise on a gradient; ε is then what it comes to; default: from privacy.epsilon"
    )
    loss: Literal["logistic", "smoothed-hinge"] = Field("logistic", description="loss of one row")


class DpAccAdmm(DpAdmm):
    """DP-AccADMM: DP-ADMM with Nesterov's steps on the model and the dual."""

    name: Literal["dp-acc-admm"]  # type: ignore[assignment]


Algorithm = Annotated[
    Admm | PpAdmm | IppAdmm | Dvp | Pvp | MAdmm | RAdmm | Pdml | DpAdmm | DpAccAdmm, Field(discriminator="name")
]
