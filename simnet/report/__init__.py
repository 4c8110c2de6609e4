"""`simnet report`: a run or a study as one HTML page that needs nothing else, neither a server nor a network."""

from __future__ import annotations

from simnet.report.write import report

__all__ = ["report"]
