"""The two sums in the last line of a log, which seal it.

`digest` is the sha256 of the canonical events, the run's identity; `sha256` is that of the bytes of all lines before.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256


class Sums:
    """The sums of the lines so far."""

    def __init__(self) -> None:
        self._bytes, self._digest = sha256(), sha256()

    def copy(self) -> Sums:
        """Sums that go on from here by themselves."""
        found = Sums()
        found._bytes, found._digest = self._bytes.copy(), self._digest.copy()
        return found

    def add(self, raw: bytes | memoryview, canonical: Iterable[bytes | memoryview]) -> None:
        """Lines, and in pieces what the digest hashes for them."""
        self._bytes.update(raw)
        for piece in canonical:
            self._digest.update(piece)

    def seal(self, canonical: bytes) -> tuple[str, str]:
        """The sum of the bytes so far, and the digest with the share of the last line."""
        digest = self._digest.copy()
        digest.update(canonical)
        return self._bytes.hexdigest(), digest.hexdigest()
