"""The steps that mechanisms are made of, each with its price by Rényi curves and by Gaussian trade-offs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simnet.privacy import curves, trade_offs
from simnet.privacy.curves import Curve
from simnet.privacy.subsampled import subsampled_gaussian
from simnet.privacy.trade_offs import TradeOff


class Step(ABC):
    """Something that is done with the data."""

    @abstractmethod
    def curve(self, orders: Curve) -> Curve:
        """A bound on the Rényi divergence at each order."""

    def trade_off(self) -> TradeOff | None:
        """The same as a Gaussian trade-off; None if only its curve is known."""
        return None


@dataclass(frozen=True)
class GaussianStep(Step):
    """Noise N(0, σ² I) on a vector that moves by at most `sensitivity`."""

    sensitivity: float
    sigma: float

    def curve(self, orders: Curve) -> Curve:
        return curves.gaussian(orders, self.sensitivity, self.sigma)

    def trade_off(self) -> TradeOff:
        return trade_offs.gaussian(self.sensitivity, self.sigma)


@dataclass(frozen=True)
class PureStep(Step):
    """Something ε-private, so many times."""

    epsilon: float
    times: int = 1

    def curve(self, orders: Curve) -> Curve:
        return self.times * curves.pure(orders, self.epsilon)

    def trade_off(self) -> TradeOff:
        return TradeOff(pure=self.times * self.epsilon)


@dataclass(frozen=True)
class LaplaceStep(Step):
    """Laplace noise of that scale on every number of a vector whose numbers move by at most `sensitivity` in all."""

    sensitivity: float
    scale: float

    def curve(self, orders: Curve) -> Curve:
        return curves.laplace(orders, self.sensitivity / self.scale)

    def trade_off(self) -> TradeOff:
        return TradeOff(pure=self.sensitivity / self.scale)


@dataclass(frozen=True)
class ZcdpStep(Step):
    """Something ρ-zero-concentrated."""

    rho: float

    def curve(self, orders: Curve) -> Curve:
        return curves.zcdp(orders, self.rho)


@dataclass(frozen=True)
class SampledGaussianStep(Step):
    """Noise on a sum over a Poisson sample: `rate` q below 1, `ratio` ν = c/σ."""

    rate: float
    ratio: float

    def curve(self, orders: Curve) -> Curve:
        return subsampled_gaussian(orders, self.rate, self.ratio)


@dataclass(frozen=True)
class KnownStep(Step):
    """Something of which the divergence is known at some orders."""

    known: Mapping[float, float]

    def curve(self, orders: Curve) -> Curve:
        return curves.between(orders, self.known)


@dataclass(frozen=True)
class ObjectiveStep(Step):
    """Gaussian objective perturbation: d = `ratio`, κ = `kappa`; its curve by the moments or by the sharper bound."""

    ratio: float
    kappa: float
    moments: bool

    def curve(self, orders: Curve) -> Curve:
        return (curves.objective if self.moments else curves.objective_transport)(orders, self.ratio, self.kappa)

    def trade_off(self) -> TradeOff:
        return trade_offs.objective(self.ratio, self.kappa)


@dataclass(frozen=True)
class NakedStep(Step):
    """Something without any privacy."""

    def curve(self, orders: Curve) -> Curve:
        return np.full_like(orders, np.inf)

    def trade_off(self) -> TradeOff:
        return TradeOff(square=np.inf)
