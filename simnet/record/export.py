"""A log as plain text for other tools: JSON lines, or one kind of event as CSV.

The seal stands at the end of a log. So a log that was altered raises `LogError` only there, after its lines are out.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, TextIO

from simnet.errors import SimnetError
from simnet.record.events import EVENTS
from simnet.record.folder import find_log
from simnet.record.lines import line
from simnet.record.log import read


def export_jsonl(path: Path, handle: TextIO) -> None:
    """All events as the log holds them, one line of JSON per event."""
    for seq, t, event in read(find_log(path)):
        handle.write(line(seq, t, event).decode() + "\n")


def export_csv(path: Path, kind: str, handle: TextIO) -> None:
    """All events of one kind: `seq`, `t` and the kind's own fields. What is missing is empty, lists are JSON."""
    if kind not in EVENTS:
        raise SimnetError(f"{kind!r} is not a kind of event: choose one of {', '.join(EVENTS)}")
    wanted = EVENTS[kind]
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(("seq", "t", *wanted.__struct_fields__))
    for seq, t, event in read(find_log(path)):
        if type(event) is wanted:
            writer.writerow((seq, t, *(_cell(getattr(event, name)) for name in wanted.__struct_fields__)))


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict, tuple)) else value
