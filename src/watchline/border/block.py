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
    rows: Integers,
    tags: Integers,
    signs: Signs,
    at: Int,
    row: Int,
    others: Doubles,
    entry_tags: Integers,
    i: Int,
    bottom: float,
    top: float,
    sign: Int,
) -> int:
    """Write the entries from i on to the columns from `at` on, the sign turned
    where the other border is not above `top`; a bit for each entry whose other border is not in
    (bottom, top]."""
    beyond = others[i : i + LANES] > top
    outside = beyond | (others[i : i + LANES] <= bottom)
    rows[at : at + LANES] = row
    tags[at : at + LANES] = entry_tags[i : i + LANES]
    signs[at : at + LANES] = np.where(beyond, sign, -sign)
    return int((outside << np.arange(LANES)).sum())


@intrinsic
def _walk_block(
    typing: Any,
    rows: Any,
    tags: Any,
    signs: Any,
    at: Any,
    row: Any,
    others: Any,
    entry_tags: Any,
    i: Any,
    bottom: Any,
    top: Any,
    sign: Any,
) -> Any:  # pragma: no cover - compiles
    i8, i64, f64 = ir.IntType(8), ir.IntType(64), ir.DoubleType()

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        def place(array: int, index: int, item: Any) -> Any:
            data = context.make_array(signature.args[array])(context, builder, values[array]).data
            vector = ir.VectorType(item, LANES).as_pointer()
            return builder.bitcast(builder.gep(data, [values[index]]), vector)

        def all_lanes(value: Any) -> Any:
            undefined = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
            first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
            return builder.shuffle_vector(first, undefined, zeros)

        other = builder.load(place(5, 7, f64), align=8)
        tag = builder.load(place(6, 7, i64), align=8)
        beyond = builder.fcmp_ordered(">", other, all_lanes(values[9]))
        outside = builder.or_(beyond, builder.fcmp_ordered("<=", other, all_lanes(values[8])))
        turned = builder.neg(values[10])
        builder.store(all_lanes(values[4]), place(0, 3, i64), align=8)
        builder.store(tag, place(1, 3, i64), align=8)
        chosen = builder.select(beyond, all_lanes(values[10]), all_lanes(turned))
        builder.store(chosen, place(2, 3, i8), align=1)
        return builder.zext(builder.bitcast(outside, i8), i64)

    integer = types.int64
    return (
        integer(
            rows,
            tags,
            signs,
            integer,
            integer,
            others,
            entry_tags,
            integer,
            bottom,
            top,
            types.int8,
        ),
        generate,
    )


@overload(walk_block, strict=False)
def _compiled_walk_block(
    rows: Any,
    tags: Any,
    signs: Any,
    at: Any,
    row: Any,
    others: Any,
    entry_tags: Any,
    i: Any,
    bottom: Any,
    top: Any,
    sign: Any,
) -> Any:  # pragma: no cover - compiles
    return lambda rows, tags, signs, at, row, others, entry_tags, i, bottom, top, sign: _walk_block(
        rows, tags, signs, at, row, others, entry_tags, i, bottom, top, sign
    )
