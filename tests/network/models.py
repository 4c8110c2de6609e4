"""Latencies and losses in few words."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest

from simnet.errors import ScenarioError
from simnet.library.delay_kinds import Gamma, Lognormal, Normal, Pareto, Uniform
from simnet.network.codec import CODECS, CodecKind, TopKSettings
from simnet.network.latency import Constant, Empirical
from simnet.network.loss import Bernoulli, Bursts, GilbertElliott, NoLoss, Trace
from simnet.scenario import Scenario


class Halves(CodecKind):
    """Half of the entries, drawn anew each time, in float32."""

    entrywise = True

    def write(self, vector, told, rng):
        return np.where(rng.random(len(vector)) < 0.5, vector, np.nan).astype("<f4").tobytes()

    def read(self, data, length):
        return np.frombuffer(data, "<f4")


def a_codec(kind, **topk):
    return CODECS[kind](kind=kind).tuned(TopKSettings(**topk))


def constant(value):
    return Constant(kind="constant", value=value)


def uniform(low, high):
    return Uniform(kind="uniform", low=low, high=high)


def normal(mean, std):
    return Normal(kind="normal", mean=mean, std=std)


def lognormal(median, sigma):
    return Lognormal(kind="lognormal", median=median, sigma=sigma)


def gamma(mean, shape):
    return Gamma(kind="gamma", mean=mean, shape=shape)


def pareto(scale, alpha):
    return Pareto(kind="pareto", scale=scale, alpha=alpha)


def empirical(*delays):
    return Empirical(kind="empirical", file="delays.csv", unit="s").read(_file("\n".join(map(str, delays))))


def no_loss():
    return NoLoss(kind="none")


def bernoulli(p):
    return Bernoulli(kind="bernoulli", p=p)


def bursts(rate, length):
    return Bursts(kind="bursts", rate=rate, length=length)


def gilbert_elliott(to_bad, to_good, loss_good=0.0, loss_bad=1.0):
    return GilbertElliott(
        kind="gilbert-elliott", p_good_to_bad=to_bad, p_bad_to_good=to_good, loss_good=loss_good, loss_bad=loss_bad
    )


def trace(fates):
    return Trace(kind="trace", file="trace.txt").read(_file(fates))


def refusal(**link):
    """The sentence that refuses a scenario with such links."""
    with pytest.raises(ScenarioError) as refused:
        Scenario.of({"algorithm": {"name": "admm"}, "network": {"link": link}})
    return str(refused.value)


def _file(text):
    """Finds a file of this text, whatever it is called."""

    def find(name):
        with tempfile.NamedTemporaryFile("w", suffix=name, delete=False, dir=_FOLDER.name) as file:
            file.write(text)
        return Path(file.name)

    return find


_FOLDER = tempfile.TemporaryDirectory()
