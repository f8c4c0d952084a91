"""How kernels are compiled: those that Python calls, and those that only other kernels call.

Numba gives each function that it compiles a way in from Python and one from C, each of which takes
its arguments apart. Where an argument is a tuple of forty arrays these cost more to compile than
the function itself: without them the kernels of moving queries compile in three quarters of the
time. Who calls an inner function from Python gets a TypeError; a test reads the sources for that.

What is compiled is kept between runs, until a source that it is made of changes (sources.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numba as nb
from numba.core.registry import CPUDispatcher

from watchline.kernels.sources import digest_of


class _Inner(CPUDispatcher):  # type: ignore[misc]
    """A compiled function without a way in: Numba's own call would end the process."""

    def __call__(self, *_: Any, **__: Any) -> Any:
        name = f"{self.py_func.__module__}.{self.py_func.__name__}"
        raise TypeError(f"{name} is compiled for other kernels to call, not for Python")


def inner(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function that only kernels call; `options` are those of Numba."""
    if function is None:
        return partial(inner, **options)
    options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    compiled = _kept(function, options)
    # With NUMBA_DISABLE_JIT it is the function itself.
    if isinstance(compiled, CPUDispatcher):
        compiled.__class__ = _Inner
    return compiled


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function that Python calls; `options` are those of Numba. Nothing calls it from
    C."""
    if function is None:
        return partial(kernel, **options)
    return _kept(function, {"no_cfunc_wrapper": True, **options})


def _kept(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Compile a function, and keep it until one of its sources changes."""
    compiled = nb.njit(cache=True, nogil=True, **options)(function)
    if isinstance(compiled, CPUDispatcher):
        compiled._cache._cache_file._source_stamp = digest_of(function.__code__.co_filename)
    return compiled


# For small functions called for every row: nothing is allocated in them, so no references to their
# arrays need be counted, which takes longer than what they do.
leaf = partial(inner, _nrt=False)
# The same for those that Python calls too.
outer_leaf = partial(kernel, _nrt=False)
