"""Whole lines out of whatever blocks they come in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from simnet.allowance import Allowance
from simnet.errors import LogError

BLOCK = 3 << 16
"""Bytes of lines that are handed on together: some 1,600 events."""
_PIECE = 1 << 16
_CHECKED = 1 << 18
"""Bytes between two looks at the memory."""


class _Held:
    """Bytes that wait to be handed on."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.whole = self.rest = 0
        """Bytes of whole lines, and of one that has not ended."""

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        end = piece.rfind(b"\n") + 1
        if end:
            self.whole += self.rest + end
            self.rest = 0
        self.rest += len(piece) - end

    def cut(self) -> bytes:
        """The whole lines, which are gone then."""
        block = b"".join(self._pieces)
        lines, self._pieces, self.whole = block[: self.whole], [block[self.whole :]], 0
        return lines


def whole_lines(blocks: Iterable[bytes], allowance: Allowance) -> Iterator[bytes]:
    """Blocks of whole lines. An error of the blocks comes after the lines before it."""
    held, since, broken = _Held(), 0, None
    try:
        for piece in (block[place : place + _PIECE] for block in blocks for place in range(0, len(block), _PIECE)):
            held.add(piece)
            since += len(piece)
            if held.rest > allowance.longest_line:
                raise allowance.refusal(f"a line of more than {allowance.longest_line:,} bytes")
            if held.whole >= BLOCK:
                yield held.cut()
            if since > _CHECKED:
                allowance.check()
                since = 0
    except LogError as error:
        broken = error
    if held.whole:
        yield held.cut()
    if broken is not None:
        raise broken
    if held.rest:
        raise LogError("altered: the last line has no end")
