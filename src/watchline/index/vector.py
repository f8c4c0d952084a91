"""What Numba does not offer: fetch memory ahead, move or compare a block at once, count bits.

Search is bound by memory, not by arithmetic. A batch is answered in small groups: first the places
of all points of a group are computed and fetched ahead, then the lists, and only then are the ids
moved, sixteen at a time, whether or not so many are needed: what is too much is overwritten by the
next. Arrays that are read or written this way have `SLACK` elements more than they use.

As plain Python (in tests of the kernels without a compiler) they are ordinary functions.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from watchline.index.table import Int

BLOCK = 16
SLACK = BLOCK
# Elements that `zeros` looks at.
LANES = 64

# For small kernels called for every row: nothing is allocated in them, so no references to their
# arrays need be counted, which takes longer than what they do.
leaf = partial(nb.njit, cache=True, nogil=True, _nrt=False)


def prefetch(array: npt.NDArray[Any], at: Int) -> None:
    """Ask for the cache line of array[at]."""


def move_block(target: npt.NDArray[Any], at: Int, source: npt.NDArray[Any], start: Int) -> None:
    """target[at : at + 16] = source[start : start + 16], of integer arrays of any width."""
    target[at : at + BLOCK] = source[start : start + BLOCK]


def zeros(array: npt.NDArray[Any], at: Int) -> Any:
    """Which of array[at : at + 64] are zero, as the bits of a number, the first the lowest."""
    return np.uint64(sum(1 << i for i in range(LANES) if not array[at + i]))


def lowest(bits: Any) -> int:
    """The place of the lowest bit of a number that is not zero."""
    return (int(bits) & -int(bits)).bit_length() - 1


def bit_length(value: Int) -> int:
    """Bits of a number that is not negative; zero has none."""
    return int(value).bit_length()


@intrinsic
def _prefetch(typing: Any, array: Any, at: Any) -> Any:  # pragma: no cover - compiles
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind, _ = signature.args
        data = context.make_array(kind)(context, builder, values[0]).data
        byte, i32 = ir.IntType(8).as_pointer(), ir.IntType(32)
        place = builder.bitcast(builder.gep(data, [values[1]]), byte)
        shape = ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32])
        fetch = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0i8")
        # Of data, to read, to be kept in every cache.
        builder.call(fetch, [place, i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(array, at), generate


@intrinsic
def _move_block(
    typing: Any, target: Any, at: Any, source: Any, start: Any
) -> Any:  # pragma: no cover - compiles
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        to, _, of, _ = signature.args
        lanes = 8
        read = ir.VectorType(ir.IntType(of.dtype.bitwidth), lanes)
        write = ir.VectorType(ir.IntType(to.dtype.bitwidth), lanes)
        into = context.make_array(to)(context, builder, values[0]).data
        out_of = context.make_array(of)(context, builder, values[2]).data
        into = builder.bitcast(builder.gep(into, [values[1]]), write.as_pointer())
        out_of = builder.bitcast(builder.gep(out_of, [values[3]]), read.as_pointer())
        steps = [ir.Constant(ir.IntType(64), i) for i in range(BLOCK // lanes)]
        blocks = [builder.load(builder.gep(out_of, [i]), align=4) for i in steps]
        for i, block in zip(steps, blocks, strict=True):
            wide = builder.sext(block, write) if write != read else block
            builder.store(wide, builder.gep(into, [i]), align=4)
        return context.get_dummy_value()

    return types.void(target, at, source, start), generate


@intrinsic
def _bit_length(typing: Any, value: Any) -> Any:  # pragma: no cover - compiles
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        zeros = builder.ctlz(values[0], ir.Constant(ir.IntType(1), 0))
        return builder.sub(ir.Constant(ir.IntType(64), 64), zeros)

    return types.int64(types.int64), generate


@intrinsic
def _zeros(typing: Any, array: Any, at: Any) -> Any:  # pragma: no cover - compiles
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind, _ = signature.args
        lanes = ir.VectorType(ir.IntType(kind.dtype.bitwidth), LANES)
        data = context.make_array(kind)(context, builder, values[0]).data
        place = builder.bitcast(builder.gep(data, [values[1]]), lanes.as_pointer())
        block = builder.load(place, align=1)
        equal = builder.icmp_unsigned("==", block, ir.Constant(lanes, None))
        return builder.bitcast(equal, ir.IntType(64))

    return types.uint64(array, at), generate


@intrinsic
def _lowest(typing: Any, bits: Any) -> Any:  # pragma: no cover - compiles
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.cttz(values[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


@overload(zeros, strict=False)
def _compiled_zeros(array: Any, at: Any) -> Any:  # pragma: no cover - compiles
    return lambda array, at: _zeros(array, np.int64(at))


@overload(lowest, strict=False)
def _compiled_lowest(bits: Any) -> Any:  # pragma: no cover - compiles
    return lambda bits: _lowest(np.uint64(bits))


@overload(bit_length, strict=False)
def _compiled_bit_length(value: Any) -> Any:  # pragma: no cover - compiles
    return lambda value: _bit_length(np.int64(value))


@overload(prefetch, strict=False)
def _compiled_prefetch(array: Any, at: Any) -> Any:  # pragma: no cover - compiles
    return lambda array, at: _prefetch(array, at)


@overload(move_block, strict=False)
def _compiled_move_block(
    target: Any, at: Any, source: Any, start: Any
) -> Any:  # pragma: no cover - compiles
    return lambda target, at, source, start: _move_block(target, at, source, start)


@leaf()
def move(
    target: npt.NDArray[Any],
    at: Int,
    source: npt.NDArray[Any],
    start: Int,
    n: Int,
) -> None:  # pragma: no cover - compiled
    """target[at : at + n] = source[start : start + n], a block at a time."""
    move_block(target, at, source, start)
    i = np.uint64(BLOCK)
    while i < n:
        move_block(target, at + i, source, start + i)
        i += np.uint64(BLOCK)


@leaf()
def fetch_list(
    ids: npt.NDArray[Any], start: Int, length: Int
) -> None:  # pragma: no cover - compiled
    """Ask for the first lines of a list; the processor itself sees how a longer one goes on."""
    prefetch(ids, start)
    prefetch(ids, start + np.uint64(BLOCK))
    prefetch(ids, start + np.uint64(2 * BLOCK))
    if length > np.uint64(3 * BLOCK):
        prefetch(ids, start + np.uint64(3 * BLOCK))
        prefetch(ids, start + np.uint64(4 * BLOCK))
