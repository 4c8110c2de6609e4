"""The methods, one file per paper, and ours. `METHODS` is the whole list."""

from __future__ import annotations

from simnet.methods.admm import Admm
from simnet.methods.dp_admm import DpAccAdmm, DpAdmm
from simnet.methods.gossip import Gossip
from simnet.methods.ipp_admm import IppAdmm
from simnet.methods.m_admm import Dvp, MAdmm, Pvp
from simnet.methods.method import Method
from simnet.methods.pdml import Pdml
from simnet.methods.pp_admm import PpAdmm, ScaledPpAdmm
from simnet.methods.r_admm import RAdmm
from simnet.parts.part import table

_OURS = [
    ("one-shot", "simnet.library.flooded_models:OneShot"),
    ("prox-rounds", "simnet.library.flooded_models:ProxRounds"),
    ("noisy-nesterov", "simnet.library.noisy_nesterov:NoisyNesterov"),
]

METHODS: dict[str, type[Method]] = table(
    Admm, Dvp, Pvp, MAdmm, RAdmm, PpAdmm, ScaledPpAdmm, IppAdmm, Pdml, DpAdmm, DpAccAdmm, Gossip, *_OURS
)
