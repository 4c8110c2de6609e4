"""Is a log what it says it is? Schema, order, seal, and the laws that every run obeys."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simnet.errors import LogError
from simnet.record.events import RunFinished, RunStarted
from simnet.record.folder import find_log, load_summary
from simnet.record.laws import Laws
from simnet.record.log import read


@dataclass(frozen=True)
class Report:
    """What was found out about a log; a finding is a sentence about something that is wrong."""

    events: int
    digest: str
    private: bool
    findings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.findings


def verify(path: Path) -> Report:
    """Check a run folder or a log. A log that cannot be read to its end is a finding, not an error.

    The log of a run folder must also be the one that its summary.json speaks of.
    """
    laws = Laws()
    count, digest, private = 0, "", False
    findings = []
    try:
        for seq, t, event in read(find_log(path)):
            laws(seq, t, event)
            count = seq
            if isinstance(event, RunStarted):
                private = event.private
            elif isinstance(event, RunFinished):
                digest = event.digest
    except LogError as error:
        return Report(count, "", private, (str(error),))
    findings += laws.finish()
    if Path(path).is_dir():
        findings += _summary_findings(Path(path), digest)
    return Report(count, digest, private, tuple(findings))


def _summary_findings(folder: Path, digest: str) -> list[str]:
    try:
        told = load_summary(folder).get("digest")
    except LogError as error:
        return [str(error)]
    return [] if told == digest else [f"summary.json speaks of another run: its digest is {told}, the log's {digest}"]
