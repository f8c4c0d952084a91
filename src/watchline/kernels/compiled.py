"""How kernels are compiled: those that Python calls, and those that only other kernels call.

Numba gives each function that it compiles a way in from Python and one from C, each of which takes
its arguments apart. Where an argument is a tuple of forty arrays these cost more to compile than
the function itself: without them the kernels of moving queries compile in three quarters of the
time. Who calls an inner function from Python gets a TypeError; a test reads the sources for that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numba as nb
from numba.core.registry import CPUDispatcher


class _Inner(CPUDispatcher):  # type: ignore[misc]
    """A compiled function without a way in: Numba's own call would end the process."""

    def __call__(self, *_: Any, **__: Any) -> Any:
        name = f"{self.py_func.__module__}.{self.py_func.__name__}"
        raise TypeError(f"{name} is compiled for other kernels to call, not for Python")


def inner(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function that only kernels call; `options` are those of Numba."""
    if function is None:
        return partial(inner, **options)
    compiled = nb.njit(
        cache=True, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options
    )(function)
    # With NUMBA_DISABLE_JIT it is the function itself.
    if isinstance(compiled, CPUDispatcher):
        compiled.__class__ = _Inner
    return compiled


# For kernels that Python calls: nothing calls them from C.
kernel = partial(nb.njit, cache=True, nogil=True, no_cfunc_wrapper=True)
# For small functions called for every row: nothing is allocated in them, so no references to their
# arrays need be counted, which takes longer than what they do.
leaf = partial(inner, _nrt=False)
# The same for those that Python calls too.
outer_leaf = partial(kernel, _nrt=False)
