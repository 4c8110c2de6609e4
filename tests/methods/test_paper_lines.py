"""The docstrings of peers map the papers' lines to code: every line has its code, and the code is there."""

from __future__ import annotations

import importlib
import inspect
import re

import pytest

from simnet.methods.admm import AdmmPeer
from simnet.methods.fused_lasso import LassoSteps
from simnet.methods.ipp_admm import IppAdmmPeer
from simnet.methods.m_admm import MAdmmPeer
from simnet.methods.pdml import PdmlPeer
from simnet.methods.pp_admm import PpAdmmPeer
from simnet.methods.r_admm import RAdmmPeer

ENTRY = re.compile(
    r"^ *(?:lines? (?P<lines>[\d, -]+?)|equation \((?P<equation>\d+)\)) {2,}(?:(?P<where>[\w.]+): )?`(?P<code>.+)`$"
)

COMPLETE = {
    # Each with the last line of its algorithm.
    PpAdmmPeer: set(range(1, 19)),
    IppAdmmPeer: set(range(1, 24)),
    LassoSteps: set(range(1, 9)),
    # The other papers number equations.
    AdmmPeer: {3, 4},
    MAdmmPeer: {11, 24},
    RAdmmPeer: {13, 28, 29},
    PdmlPeer: {14, 15, 16, 17},
}


def entries(peer: type) -> list[re.Match[str]]:
    return [found for line in inspect.getdoc(peer).splitlines() if (found := ENTRY.match(line))]


def numbers(entry: re.Match[str]) -> set[int]:
    if entry["equation"]:
        return {int(entry["equation"])}
    spans = [part.split("-") for part in entry["lines"].split(", ")]
    return {number for span in spans for number in range(int(span[0]), int(span[-1]) + 1)}


def source(peer: type, where: str | None) -> str:
    """The source of a module or class, named from the peer's own module, from `simnet.methods` or from `simnet`."""
    if where is None:
        return inspect.getsource(peer)
    for root in (peer.__module__, "simnet.methods", "simnet"):
        found = importlib.import_module(root)
        for name in where.split("."):
            try:
                found = importlib.import_module(f"{found.__name__}.{name}") if inspect.ismodule(found) else None
            except ModuleNotFoundError:
                found = getattr(found, name, None)
            if found is None:
                break
        if found is not None:
            return inspect.getsource(found)
    raise AssertionError(f"{peer.__name__}: {where} is nowhere")


@pytest.mark.parametrize("peer", COMPLETE, ids=lambda peer: peer.__name__)
def test_every_line_of_the_paper_is_mapped(peer):
    assert set().union(*map(numbers, entries(peer))) == COMPLETE[peer]


@pytest.mark.parametrize("peer", COMPLETE, ids=lambda peer: peer.__name__)
def test_the_code_that_a_line_is_mapped_to_is_there(peer):
    for entry in entries(peer):
        text = source(peer, entry["where"])
        body = text.replace(inspect.getdoc(peer) or "", "")
        body = re.sub(r'"""(?:.|\n)*?"""', "", body)
        assert entry["code"] in body, entry[0]
