"""Everything that a part of your own needs, and nothing else: import from here, and nowhere else from simnet.

A part is a class with typed fields, a docstring, and the methods of its kind. A scenario names it by
`"my_file.py:MyPart"`, `"package.module:MyPart"`, or by a name of the entry point group `simnet.parts`. docs/extend.md
has an example of everything that stands here.
"""

from __future__ import annotations

from pydantic import Field, model_validator

from simnet.agent.neighbourhood import Neighbourhood
from simnet.agent.pacing import Pacing
from simnet.learning.dataset import Dataset
from simnet.learning.metric_parts import Metric
from simnet.learning.partitions import RowPartition
from simnet.learning.row_objective import Objective, RowGradients
from simnet.learning.sources import DataSource
from simnet.learning.task import MarginTask, Task
from simnet.methods.admm import AdmmPeer
from simnet.methods.admm import Decentralised as AdmmMethod
from simnet.methods.method import AgentPlace, AgentSize, Finding, Method, Setting, Surroundings
from simnet.methods.peer import Known, Peer, PrivatePeer, Proposal, Test
from simnet.network.codec import CodecKind
from simnet.network.codec_faults import codec_faults
from simnet.network.latency import Latency
from simnet.network.loss import PacketLoss
from simnet.network.rates import VaryingRate
from simnet.network.topology import SizedTopology, Topology
from simnet.parts.fields import (
    Bandwidth,
    Count,
    FileName,
    Finder,
    Name,
    NonNegative,
    Positive,
    PositiveSeconds,
    PositiveShare,
    Probability,
    Seconds,
    Share,
    Size,
    Switch,
    Whole,
)
from simnet.privacy.budget import Facts, NoisePlan, Privacy
from simnet.privacy.ledger import BARE, RECYCLED, Charge
from simnet.privacy.problem import LocalProblem
from simnet.privacy.ready_plans import (
    ReadyPlan,
    ShareOfBudget,
    ThresholdTest,
    gaussian_plan,
    laplace_plan,
    mean_sensitivity,
    objective_plan,
    sampled_plan,
    threshold_test,
    zcdp_plan,
)
from simnet.privacy.recovered import Candidate
from simnet.sim.faults import Fault
from simnet.sim.transport import Acknowledged, Datagram, TransportKind
from simnet.streams import Streams
from simnet.vectors import Parts, Vector

__all__ = [
    "BARE",
    "RECYCLED",
    "Acknowledged",
    "AdmmMethod",
    "AdmmPeer",
    "AgentPlace",
    "AgentSize",
    "Bandwidth",
    "Candidate",
    "Charge",
    "CodecKind",
    "Count",
    "DataSource",
    "Datagram",
    "Dataset",
    "Facts",
    "Fault",
    "Field",
    "FileName",
    "Finder",
    "Finding",
    "Known",
    "Latency",
    "LocalProblem",
    "MarginTask",
    "Method",
    "Metric",
    "Name",
    "Neighbourhood",
    "NoisePlan",
    "NonNegative",
    "Objective",
    "Pacing",
    "PacketLoss",
    "Parts",
    "Peer",
    "Positive",
    "PositiveSeconds",
    "PositiveShare",
    "Privacy",
    "PrivatePeer",
    "Probability",
    "Proposal",
    "ReadyPlan",
    "RowGradients",
    "RowPartition",
    "Seconds",
    "Setting",
    "Share",
    "ShareOfBudget",
    "Size",
    "SizedTopology",
    "Streams",
    "Surroundings",
    "Switch",
    "Task",
    "Test",
    "ThresholdTest",
    "Topology",
    "TransportKind",
    "VaryingRate",
    "Vector",
    "Whole",
    "codec_faults",
    "gaussian_plan",
    "laplace_plan",
    "mean_sensitivity",
    "model_validator",
    "objective_plan",
    "sampled_plan",
    "threshold_test",
    "zcdp_plan",
]
