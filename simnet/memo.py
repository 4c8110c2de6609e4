"""What many runs ask for, computed once: values of pure functions, kept under all that they depend on.

The runs of a study share rows, plans and yardsticks, and many of them their first rounds. Four rules keep a memo out of
every result:

- A value is a pure function of its key, and the key says all of it: sections of a scenario, seeds, hashes of files,
  numbers. Chance that belongs to one run is in no value: neither its noise nor a stream, nor what has travelled.
- Whoever is handed a value cannot change it: its arrays are read-only.
- A memo has an owner: a worker of a study, or a comparison. Without one, everything is computed as it is asked for.
- There is so much room. Where it ends, the kind of value that takes most of it gives up what nobody has asked for the
  longest: the states of solves, which are many, never push out a plan, which took a tenth of a second.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from threading import Lock
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

Value = TypeVar("Value")

ROOM: Final = 256_000_000
"""Bytes for what a worker of a study keeps: the rows of several seeds, and the states of some thousand solves."""
_OBJECT = 100
"""Bytes of an object beside its arrays, about."""


class Memo:
    """Values by their keys, in `room` bytes; without room nothing is kept. Threads may share one."""

    def __init__(self, room: float = 0.0) -> None:
        self._room = int(room)
        self._kept: dict[str, OrderedDict[bytes, tuple[Any, int]]] = {}
        """By kind."""
        self._lock = Lock()
        self.held: Counter[str] = Counter()
        """Bytes that are kept of each kind."""
        self.made: Counter[str] = Counter()
        """How many values of each kind have been computed and handed in."""
        self.followed = 0
        """The length of the longest trail that somebody has followed (`simnet.learning.trail`)."""

    @property
    def keeps(self) -> bool:
        """Whether it keeps anything."""
        return self._room > 0

    def find(self, what: str, key: bytes) -> Any:
        """The value of this kind under a key; None if none is kept."""
        with self._lock:
            shelf = self._kept.get(what)
            if shelf is None or key not in shelf:
                return None
            shelf.move_to_end(key)
            return shelf[key][0]

    def keep(self, what: str, key: bytes, value: object, size: int) -> None:
        """Keep a value of this kind and of so many bytes."""
        with self._lock:
            self.made[what] += 1
            shelf = self._kept.setdefault(what, OrderedDict())
            if size > self._room or key in shelf:
                return
            shelf[key] = value, size
            self.held[what] += size
            while self.held.total() > self._room:
                [(most, _)] = self.held.most_common(1)
                self.held[most] -= self._kept[most].popitem(last=False)[1][1]


class Known(NamedTuple):
    """A place in a memo: what all keys below it have in common."""

    memo: Memo
    place: bytes = b""

    def under(self, *facts: object) -> Known:
        """The place of whatever depends on these facts too."""
        return Known(self.memo, self.key(*facts)) if self.memo.keeps else self

    def key(self, *facts: object) -> bytes:
        """A key that differs wherever a fact does: bytes are taken as they are, anything else as it shows itself."""
        raw = [fact if isinstance(fact, bytes) else repr(fact).encode("utf-8", "surrogatepass") for fact in facts]
        lengths = b",".join(b"%d" % len(each) for each in (self.place, *raw))
        return blake2b(b"".join((lengths, b":", self.place, *raw)), digest_size=16).digest()

    def recall(self, what: str, *facts: object, make: Callable[[], Value]) -> Value:
        """The value of this kind that depends on these facts, computed if it is not kept."""
        if not self.memo.keeps:
            return make()
        key = self.key(*facts)
        found: Value | None = self.memo.find(what, key)
        if found is None:
            found = make()
            self.memo.keep(what, key, found, sealed(found))
        return found


NOTHING: Final = Known(Memo())
"""Where nobody keeps anything."""


def sealed(value: object) -> int:
    """The bytes that a value takes, about; its arrays are read-only from here on."""
    size, todo, seen, met = 0, [value], set[int](), set[int]()
    while todo:
        each = todo.pop()
        if each is None or isinstance(each, str | int | float | type | Memo) or callable(each) or id(each) in seen:
            continue
        seen.add(id(each))
        size += _OBJECT
        if isinstance(each, np.ndarray):
            each.flags.writeable = False
            start = each.__array_interface__["data"][0]
            size += 0 if start in met else each.nbytes  # a transposed matrix has the arrays of the other
            met.add(start)
        else:
            todo += _inside(each)
    return size


def _inside(value: Any) -> Iterator[object]:
    """What an object holds."""
    if isinstance(value, Mapping):
        yield from value.keys()
        yield from value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        yield from value
    else:
        yield from getattr(value, "__dict__", {}).values()
        yield from (getattr(value, name) for name in getattr(value, "__slots__", ()) if hasattr(value, name))
