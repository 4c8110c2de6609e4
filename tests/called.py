"""Commands of simnet without a process of their own; nothing is imported that they do not need."""

from __future__ import annotations

import contextlib
import io

from simnet.cli import app
from simnet.errors import SimnetError


class _Beginning(io.StringIO):
    """Keeps the first million characters that are written: the test must not take the memory that it looks for."""

    def write(self, text: str) -> int:
        return super().write(text) if self.tell() < 1_000_000 else len(text)


def called(*words: str) -> tuple[int, str, str]:
    """A command in this process: its exit code, what it printed, and its refusal. Other exceptions are tracebacks."""
    out, err = _Beginning(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = app(list(words), standalone_mode=False)
        except SimnetError as error:
            return 2, out.getvalue(), str(error)
    return int(code or 0), out.getvalue(), err.getvalue()
