"""Several threads for what is large and independent: the local problems of an instant, the losses of a round.

Products with many rows let other threads of the interpreter run, so two of them have two cores. The answers do not
depend on who finds them: each is the outcome of one call that changes nothing but what it is about, and all are
returned in their order. A problem of some dozens of rows is computed by the interpreter itself, where threads only wait
for each other: such problems are solved in batches, by one thread (`simnet.learning.batch_solver`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from types import TracebackType
from typing import Generic, Self, TypeVar

from simnet.errors import SimnetError

Item = TypeVar("Item")
Found = TypeVar("Found")


class Threads:
    """The thread that asks, and `workers - 1` others until it is left again.

    >>> with Threads(2) as threads:
    ...     threads.map(abs, [-1, 2, -3])
    [1, 2, 3]
    """

    def __init__(self, workers: int = 1) -> None:
        if workers < 1:
            raise SimnetError(f"workers = {workers}: at least 1")
        self.workers = workers
        self._others: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        if self.workers > 1:
            self._others = ThreadPoolExecutor(self.workers - 1, "simnet")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        others, self._others = self._others, None
        if others is not None:
            others.shutdown(cancel_futures=True)

    def map(self, function: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
        """What `function` gives for each item, in order; of several failures that of the first item counts."""
        items = list(items)
        if self._others is None or len(items) < 2:
            return [function(item) for item in items]
        share = _Share(function, items)
        # A context of its own for each thread: what to do with an overflow is said in it.
        helping = [
            self._others.submit(copy_context().run, share.work) for _ in range(min(len(items), self.workers) - 1)
        ]
        try:
            share.work()
        finally:
            share.left.clear()
            for each in helping:
                if not each.cancel():  # who has not begun yet has nothing left to do
                    each.result()
        return share.outcome()


class _Share(Generic[Item, Found]):
    """Items of which each thread takes one after another."""

    def __init__(self, function: Callable[[Item], Found], items: Sequence[Item]) -> None:
        self._function, self._items = function, items
        self.left = deque(range(len(items)))
        """Places of the items that nobody has taken; to take one is a single step of the interpreter."""
        self._found: dict[int, Found] = {}
        self._failed: dict[int, Exception] = {}

    def work(self) -> None:
        """Take items until there are none, or until one fails."""
        while self.left and not self._failed:
            try:
                place = self.left.popleft()
            except IndexError:
                return
            try:
                self._found[place] = self._function(self._items[place])
            except Exception as error:
                self._failed[place] = error

    def outcome(self) -> list[Found]:
        """What was found, in order; the first failure, if there is one."""
        if self._failed:
            raise self._failed[min(self._failed)]
        return [self._found[place] for place in range(len(self._items))]
