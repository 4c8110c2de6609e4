"""Studies: many runs, and what they say together.

    found = simnet.study("scenarios/studies/skips.toml", out="results")
    found.runs, found.rounds, found.means("test_error", "wire_bytes")

The room and the function that opens it share a name, so the module itself is callable: a plain function would be
hidden by the package as soon as one of its modules is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simnet.study.results import StudyResult
    from simnet.study.spec import Study


PLAN = "study.json"
"""The file by which a study's folder is known."""


class _Callable(ModuleType):
    def __call__(
        self,
        source: str | Path | Mapping[str, Any] | Study,
        out: str | Path | None = None,
        *,
        workers: int | None = None,
        cluster: str | None = None,
    ) -> StudyResult:
        """Run a study, or what is missing of it, and give its tables; see `simnet.study.sweep.study`."""
        from simnet.study.sweep import study

        return study(source, out, workers=workers, cluster=cluster)


sys.modules[__name__].__class__ = _Callable
