"""Eight entries of a walk at a time, as vector instructions.

The compiler cannot do this by itself: it does not know that entries and columns are not the same
memory. Arrays that are read or written this way have `LANES` elements more than they use.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

from watchline.index.table import Doubles, Int, Integers

Signs = npt.NDArray[np.int8]

LANES = 8


def walk_block(
    columns: tuple[Integers, Integers, Integers, Signs],
    at: Int,
    what: tuple[Int, Int, Int],
    entries: tuple[Doubles, Integers],
    i: Int,
    span: tuple[float, float],
) -> int:
    """Write the entries (others, tags) from i on to the columns (rows, whose, tags, signs) from
    `at` on; a bit for each entry whose other border is not in the span (bottom, top].

    `what` is the row, the stream, and the sign of an entry whose other border is above the top; the
    others have the opposite one.
    """
    rows, whose, tags, signs = columns
    others, entry_tags = entries
    (row, stream, sign), (bottom, top) = what, span
    beyond = others[i : i + LANES] > top
    outside = beyond | (others[i : i + LANES] <= bottom)
    rows[at : at + LANES] = row
    whose[at : at + LANES] = stream
    tags[at : at + LANES] = entry_tags[i : i + LANES]
    signs[at : at + LANES] = np.where(beyond, sign, -sign)
    return int((outside << np.arange(LANES)).sum())


@overload(walk_block, strict=False)
def _compiled_walk_block(
    columns: Any, at: Any, what: Any, entries: Any, i: Any, span: Any
) -> Any:  # pragma: no cover - compiles
    def call(columns: Any, at: Any, what: Any, entries: Any, i: Any, span: Any) -> Any:
        rows, whose, tags, signs = columns
        row, stream, sign = what
        others, entry_tags = entries
        bottom, top = span
        return _walk_block(
            rows, whose, tags, signs, at, row, stream, sign, others, entry_tags, i, bottom, top
        )

    return call


@intrinsic
def _walk_block(
    typing: Any,
    rows: Any,
    whose: Any,
    tags: Any,
    signs: Any,
    at: Any,
    row: Any,
    stream: Any,
    sign: Any,
    others: Any,
    entry_tags: Any,
    i: Any,
    bottom: Any,
    top: Any,
) -> Any:  # pragma: no cover - compiles
    i8, i64, f64 = ir.IntType(8), ir.IntType(64), ir.DoubleType()
    whole, double = types.int64, types.float64
    kinds = [rows, whose, tags, signs, whole, whole, whole, types.int8]
    kinds += [others, entry_tags, whole, double, double]

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        def lanes_at(array: int, index: int, item: Any) -> Any:
            data = context.make_array(signature.args[array])(context, builder, values[array]).data
            vector = ir.VectorType(item, LANES).as_pointer()
            return builder.bitcast(builder.gep(data, [values[index]]), vector)

        def in_all_lanes(value: Any) -> Any:
            undefined = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
            first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
            return builder.shuffle_vector(first, undefined, zeros)

        row, stream, sign = (in_all_lanes(value) for value in values[5:8])
        bottom, top = (in_all_lanes(value) for value in values[11:13])
        other = builder.load(lanes_at(8, 10, f64), align=8)
        tag = builder.load(lanes_at(9, 10, i64), align=8)
        beyond = builder.fcmp_ordered(">", other, top)
        outside = builder.or_(beyond, builder.fcmp_ordered("<=", other, bottom))
        builder.store(row, lanes_at(0, 4, i64), align=8)
        builder.store(stream, lanes_at(1, 4, i64), align=8)
        builder.store(tag, lanes_at(2, 4, i64), align=8)
        turned = builder.select(beyond, sign, builder.neg(sign))
        builder.store(turned, lanes_at(3, 4, i8), align=1)
        return builder.zext(builder.bitcast(outside, i8), i64)

    return whole(*kinds), generate
