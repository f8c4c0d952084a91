"""How many threads share the work of a call.

A search by a user takes as many threads as Numba may use. A task of Spark takes one, because Spark
has dealt out the cores of the machine already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numba as nb

_alone = ContextVar("alone", default=False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Searches in this block use no other threads: the machine's cores have been dealt out."""
    before = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(before)


def threads_for(most: int) -> int:
    """As many threads as Numba may use, for work that is worth so many at most.

    Numba is asked only if it matters: that starts its threads, and a process may yet fork.
    """
    return 1 if most < 2 or _alone.get() else min(nb.get_num_threads(), most)


@contextmanager
def team(threads: int) -> Iterator[Callable[..., list[Any]]]:
    """A `map` whose calls these threads share; all have ended when it returns."""
    if threads < 2:
        yield lambda call, *given: list(map(call, *given))
        return
    with ThreadPoolExecutor(threads) as pool:
        yield lambda call, *given: list(pool.map(call, *given))
