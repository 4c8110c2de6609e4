"""Everything that a part of your own needs, and nothing else: import from here, and nowhere else from simnet.

A part is a class with typed fields, a docstring, and the methods of its kind. A scenario names it by
`"my_file.py:MyPart"`, `"package.module:MyPart"`, or by a name of the entry point group `simnet.parts`. docs/extend.md
has an example of everything that stands here.
"""

from __future__ import annotations

from pydantic import Field

from simnet.learning.dataset import Dataset
from simnet.learning.partitions import RowPartition
from simnet.learning.sources import DataSource
from simnet.methods.admm import AdmmPeer
from simnet.methods.admm import Decentralised as AdmmMethod
from simnet.methods.method import AgentPlace, AgentSize, Finding, Method, Setting, Surroundings
from simnet.methods.peer import Known, Peer, PrivatePeer, Proposal
from simnet.network.codec import CodecKind
from simnet.parts.fields import (
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
    Switch,
    Whole,
)
from simnet.privacy.budget import Facts, NoisePlan, Privacy
from simnet.privacy.ledger import BARE, RECYCLED, Charge
from simnet.privacy.problem import LocalProblem
from simnet.privacy.ready_plans import (
    ReadyPlan,
    SampledPlan,
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
from simnet.streams import Streams
from simnet.vectors import Parts, Vector

__all__ = [
    "BARE",
    "RECYCLED",
    "AdmmMethod",
    "AdmmPeer",
    "AgentPlace",
    "AgentSize",
    "Candidate",
    "Charge",
    "CodecKind",
    "Count",
    "DataSource",
    "Dataset",
    "Facts",
    "Field",
    "FileName",
    "Finder",
    "Finding",
    "Known",
    "LocalProblem",
    "Method",
    "Name",
    "NoisePlan",
    "NonNegative",
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
    "RowPartition",
    "SampledPlan",
    "Seconds",
    "Setting",
    "Share",
    "ShareOfBudget",
    "Streams",
    "Surroundings",
    "Switch",
    "ThresholdTest",
    "Vector",
    "Whole",
    "gaussian_plan",
    "laplace_plan",
    "mean_sensitivity",
    "objective_plan",
    "sampled_plan",
    "threshold_test",
    "zcdp_plan",
]
