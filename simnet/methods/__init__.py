"""The methods, one file per paper, and ours. `METHODS` is the whole list."""

from __future__ import annotations

from simnet.methods.admm import Admm
from simnet.methods.dp_admm import DpAccAdmm, DpAdmm
from simnet.methods.gossip import Gossip
from simnet.methods.ipp_admm import IppAdmm
from simnet.methods.m_admm import Dvp, MAdmm, Pvp
from simnet.methods.method import Method
from simnet.methods.pdml import Pdml
from simnet.methods.pp_admm import PpAdmm
from simnet.methods.r_admm import RAdmm
from simnet.parts.part import table

METHODS: dict[str, type[Method]] = table(Admm, Dvp, Pvp, MAdmm, RAdmm, PpAdmm, IppAdmm, Pdml, DpAdmm, DpAccAdmm, Gossip)
