"""What the methods share whose noise follows a schedule."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from simnet.methods.method import Decentralised
from simnet.parts.fields import Positive, Share
from simnet.privacy.budget import Privacy


class Scheduled(Decentralised):
    """What the methods have whose noise has the density exp(−α|n|), by a schedule."""

    noise_amounts: ClassVar[tuple[str, ...]] = ("noise_rate", "sigma")

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
    def _one_amount_of_noise(self) -> Scheduled:
        if self.noise_rate is not None and self.noise == "gaussian":
            raise ValueError("noise_rate: Gaussian noise has a sigma")
        if self.sigma is not None and self.noise == "gamma":
            raise ValueError("sigma: gamma-type noise has a noise_rate")
        return self

    def misfit_of_privacy(self, privacy: Privacy) -> str | None:
        if privacy.calibration == "paper" and self.noise == "gaussian":
            return "algorithm.noise: no paper has a price for Gaussian noise here; privacy.calibration = 'proven' has"
        return super().misfit_of_privacy(privacy)
