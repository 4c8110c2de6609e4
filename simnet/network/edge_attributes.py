"""What a file says of an edge: latency, bandwidth and loss as fields of a link, with their units; and its weight."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from math import inf
from typing import Any

from simnet.errors import ScenarioError
from simnet.network.latency import Constant
from simnet.network.loss import Bernoulli
from simnet.network.measured_times import TOO_LONG
from simnet.parts.fields import BITS_PER_SECOND, SECONDS, quantity

_RATES = {"bps": "bps", "kbps": "kbps", "mbps": "Mbps", "gbps": "Gbps"}
_TIMES = {"s": "s", "ms": "ms", "us": "us"}


def link_fields(attributes: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The fields of `LinkModel` that these attributes give; `where` is the place of the edge in its file."""
    found: dict[str, Any] = {}
    for key, value in attributes.items():
        word, _, suffix = key.strip().lower().partition("_")
        text = str(value).strip()
        if not text:
            continue
        what = f"{where} has {key} = {text}"
        match word:
            case "latency" | "delay":
                found["latency"] = _latency(text, suffix, what)
            case "bandwidth" | "linkspeedraw":
                rate = _quantity(text, suffix, BITS_PER_SECOND, _RATES, what)
                if not 0 < rate < inf:
                    raise ScenarioError(f"{what}: a bandwidth is above 0")
                found["bandwidth"] = rate
            case "loss":
                found["loss"] = _loss(text, suffix, what)
            case "rtt":
                raise ScenarioError(f"{what}: a link has a latency, which is one way: half of it")
    return found


def edge_weight(attributes: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The `weight` of an edge, where that is a number of at least 0: only who routes by it asks for more."""
    for key, value in attributes.items():
        if key.strip().lower() == "weight":
            try:
                weight = float(value)
            except (TypeError, ValueError):
                return {}
            return {"weight": weight} if 0 <= weight < inf else {}
    return {}


def _latency(text: str, suffix: str, what: str) -> Constant:
    value = _quantity(text, suffix, SECONDS, _TIMES, what)
    if not 0 <= value < inf:
        raise ScenarioError(f"{what}: a latency is at least 0")
    if value > TOO_LONG and not suffix and text[-1] in "0123456789.":
        raise ScenarioError(f"{what}: that would be seconds; give it a unit such as ms")
    return Constant(kind="constant", value=value)


def _loss(text: str, suffix: str, what: str) -> Bernoulli:
    p = _quantity(text, suffix, {}, {}, what)
    if not 0 <= p <= 1:
        raise ScenarioError(f"{what}: a probability lies between 0 and 1")
    return Bernoulli(kind="bernoulli", p=p)


def _quantity(text: str, suffix: str, units: Mapping[str, Decimal], suffixes: Mapping[str, str], what: str) -> float:
    """A number with its unit, which may stand behind the number or behind the name."""
    if suffix and suffix not in suffixes:
        raise ScenarioError(f"{what}: {suffix} is no unit known here ({', '.join(suffixes) or 'there is none'})")
    try:
        return quantity(f"{text} {suffixes[suffix]}" if suffix else text, units)
    except ValueError as error:
        raise ScenarioError(f"{what}: {error}" if units else f"{what}: a number") from None
