"""Everything that a part of your own needs, and nothing else: import from here, and nowhere else from simnet.

A part is a class with typed fields, a docstring, and the methods of its kind. A scenario names it by
`"my_file.py:MyPart"`, `"package.module:MyPart"`, or by a name of the entry point group `simnet.parts`. docs/extend.md
has an example of everything that stands here.
"""

from __future__ import annotations

from pydantic import Field, model_validator

from simnet.agent.neighbourhood import Neighbourhood
from simnet.agent.outputs import Learnt, Output
from simnet.agent.pacing import Pacing
from simnet.learning.dataset import Dataset
from simnet.learning.metric_parts import Metric
from simnet.learning.partitions import RowPartition
from simnet.learning.row_objective import Objective, RowGradients
from simnet.learning.sources import DataSource
from simnet.learning.task import MarginTask, Task
from simnet.methods.admm import AdmmPeer
from simnet.methods.admm import Decentralised as AdmmMethod
from simnet.methods.flooding import MOST_VERSIONS, Flood, flood_lengths, flood_reaches
from simnet.methods.method import AgentPlace, AgentSize, Finding, Method, Setting, Surroundings
from simnet.methods.peer import OUTSIDE, Known, Peer, PrivatePeer, Proposal, Test, Told, Work
from simnet.methods.scaling import Scaled
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
from simnet.privacy.objective_perturbation import PerturbationPlan
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
from simnet.privacy.rounding import longest_point
from simnet.sim.faults import Fault
from simnet.sim.transport import Acknowledged, Datagram, TransportKind
from simnet.streams import Streams
from simnet.vectors import Parts, Vector

__all__ = [
    "BARE",
    "MOST_VERSIONS",
    "OUTSIDE",
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
    "Flood",
    "Known",
    "Latency",
    "Learnt",
    "LocalProblem",
    "MarginTask",
    "Method",
    "Metric",
    "Name",
    "Neighbourhood",
    "NoisePlan",
    "NonNegative",
    "Objective",
    "Output",
    "Pacing",
    "PacketLoss",
    "Parts",
    "Peer",
    "PerturbationPlan",
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
    "Scaled",
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
    "Told",
    "Topology",
    "TransportKind",
    "VaryingRate",
    "Vector",
    "Whole",
    "Work",
    "codec_faults",
    "flood_lengths",
    "flood_reaches",
    "gaussian_plan",
    "laplace_plan",
    "longest_point",
    "mean_sensitivity",
    "model_validator",
    "objective_plan",
    "sampled_plan",
    "threshold_test",
    "zcdp_plan",
]
