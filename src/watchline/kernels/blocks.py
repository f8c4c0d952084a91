"""Eight borders or boxes compared at once, as vector instructions.

`walk_block` is a step of a walk along sorted borders in one dimension; `cross_block` and
`leave_block` compare the boxes of a grid with a move in two. The compiler cannot do this by itself:
it does not know that what is read and what is written are not the same memory. Arrays that are read
or written this way have `LANES` elements more than they use.

As plain Python (in tests of the kernels without a compiler) they are ordinary functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.types.containers import Tuple, UniTuple
from numba.extending import intrinsic, overload

from watchline.kernels.arrays import Doubles, Int, Integers, Signs, Small
from watchline.kernels.simd import CAN_PICK, PICKS

# Entries of a block, and how many of them a register holds.
LANES, HALF = 8, 4
# Rows of bounds for a block of boxes.
SIDES = 4

# The numbers of moves, of boxes, and the signs: where what moves enter and leave is written.
MoveArrays = tuple[Integers, Integers, Signs]
# Where lists start, bounds and tags: block b has rows 4b to 4b + 3 of the bounds and row b of the
# tags. Lanes without an entry are NaN, with which no comparison holds.
BlockArrays = tuple[Small, Doubles, Small]
# Of a move from (a, c) to (b, d): a, b, c, d.
Ends = tuple[float, float, float, float]

I8, I32, I64, F64 = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.DoubleType()
MASK = ir.VectorType(I64, HALF)


def _spread(builder: Any, value: Any, lanes: int) -> Any:
    """A vector that has this value everywhere."""
    undefined = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    first = builder.insert_element(undefined, value, I32(0))
    zeros = ir.Constant(ir.VectorType(I32, lanes), [0] * lanes)
    return builder.shuffle_vector(first, undefined, zeros)


def _arrays(context: Any, builder: Any, kind: Any, value: Any) -> list[Any]:
    """The memory of each array of a tuple."""
    members = cgutils.unpack_tuple(builder, value, len(kind))
    return [
        context.make_array(of)(context, builder, member).data
        for of, member in zip(kind, members, strict=True)
    ]


def _lanes_at(builder: Any, data: Any, index: Any, item: Any, lanes: int = LANES) -> Any:
    vector = ir.VectorType(item, lanes).as_pointer()
    return builder.bitcast(builder.gep(data, [index]), vector)


# --- a walk along sorted borders


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


@intrinsic
def _walk_block(
    typing: Any, columns: Any, at: Any, what: Any, entries: Any, i: Any, span: Any
) -> Any:
    whole, double = types.int64, types.float64
    labels, ends = Tuple((whole, whole, types.int8)), UniTuple(double, 2)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        columns, at, what, entries, i, span = values
        targets = _arrays(context, builder, signature.args[0], columns)
        others, entry_tags = _arrays(context, builder, signature.args[3], entries)
        row, stream, sign = (
            _spread(builder, value, LANES) for value in cgutils.unpack_tuple(builder, what, 3)
        )
        bottom, top = (
            _spread(builder, value, LANES) for value in cgutils.unpack_tuple(builder, span, 2)
        )
        other = builder.load(_lanes_at(builder, others, i, F64), align=8)
        tag = builder.load(_lanes_at(builder, entry_tags, i, I64), align=8)
        beyond = builder.fcmp_ordered(">", other, top)
        outside = builder.or_(beyond, builder.fcmp_ordered("<=", other, bottom))
        for target, value in zip(targets, (row, stream, tag), strict=False):
            builder.store(value, _lanes_at(builder, target, at, I64), align=8)
        turned = builder.select(beyond, sign, builder.neg(sign))
        builder.store(turned, _lanes_at(builder, targets[3], at, I8), align=1)
        return builder.zext(builder.bitcast(outside, I8), I64)

    return whole(columns, whole, labels, entries, whole, ends), generate


@overload(walk_block, strict=False)
def _compiled_walk_block(columns: Any, at: Any, what: Any, entries: Any, i: Any, span: Any) -> Any:
    def call(columns: Any, at: Any, what: Any, entries: Any, i: Any, span: Any) -> Any:
        return _walk_block(columns, at, what, entries, i, span)

    return call


# --- boxes of a grid


def cross_block(
    columns: MoveArrays, at: Int, move: Int, entries: BlockArrays, block: Int, ends: Ends, sign: Int
) -> int:
    """Write the boxes of a block of borders that the leg from a to b, at c, changes and that from c
    to d, at b, does not change back; how many. `sign` is that of what is entered."""
    moves, numbers, signs = columns
    _, bounds, tags = entries
    a, b, c, d = ends
    bottom, top, count = min(a, b), max(a, b), 0
    for lane in range(LANES):
        key, other, low, high = bounds[SIDES * block : SIDES * block + SIDES, lane]
        passed = bottom < key <= top and (other > top or other <= bottom)
        entered = (other > top) == (a < b)
        if passed and low <= c < high and (low <= d < high or not entered):
            moves[at + count], numbers[at + count] = move, tags[block, lane]
            signs[at + count] = sign if entered else -sign
            count += 1
    return count


def leave_block(
    columns: MoveArrays, at: Int, move: Int, entries: BlockArrays, block: Int, ends: Ends, sign: Int
) -> int:
    """Write the boxes of a block of members that hold (a, c) and not (b, d), with this sign."""
    moves, numbers, signs = columns
    _, bounds, tags = entries
    a, b, c, d = ends
    count = 0
    for lane in range(LANES):
        x1, x2, y1, y2 = bounds[SIDES * block : SIDES * block + SIDES, lane]
        if x1 <= a < x2 and y1 <= c < y2 and not (x1 <= b < x2 and y1 <= d < y2):
            moves[at + count], numbers[at + count] = move, tags[block, lane]
            signs[at + count] = sign
            count += 1
    return count


# The same as vector instructions. The sign of a box that changes is the highest bit of its tag, so
# that tag and sign are picked together. Masks are whole numbers of all ones or zeros, which stay in
# registers.


def _compare(builder: Any, operator: str, left: Any, right: Any) -> Any:
    return builder.sext(builder.fcmp_ordered(operator, left, right), MASK)


def _within(builder: Any, low: Any, value: Any, high: Any) -> Any:
    above = _compare(builder, "<=", low, value)
    return builder.and_(above, _compare(builder, ">", high, value))


def _crosses(builder: Any, bounds: Any, ends: Any) -> tuple[Any, Any]:
    """Masks of the boxes that change, and of those that are entered."""
    key, other, low, high = bounds
    a, b, c, d = ends
    up = builder.fcmp_ordered("<", a, b)
    bottom, top = builder.select(up, a, b), builder.select(up, b, a)
    beyond, before = _compare(builder, ">", other, top), _compare(builder, "<=", other, bottom)
    entered = builder.not_(builder.xor(beyond, builder.sext(up, MASK)))
    passed = builder.and_(_compare(builder, ">", key, bottom), _compare(builder, "<=", key, top))
    passed = builder.and_(passed, builder.or_(beyond, before))
    passed = builder.and_(passed, _within(builder, low, c, high))
    stays = builder.or_(_within(builder, low, d, high), builder.not_(entered))
    return builder.and_(passed, stays), entered


def _leaves(builder: Any, bounds: Any, ends: Any) -> tuple[Any, Any]:
    """Masks of the boxes that are left, and of all."""
    x1, x2, y1, y2 = bounds
    a, b, c, d = ends
    held, holds = (
        builder.and_(_within(builder, x1, x, x2), _within(builder, y1, y, y2))
        for x, y in ((a, c), (b, d))
    )
    return builder.and_(held, builder.not_(holds)), ir.Constant(MASK, [-1] * HALF)


def _call(builder: Any, name: str, kind: Any, *values: Any) -> Any:
    shape = ir.FunctionType(kind, [value.type for value in values])
    return builder.call(cgutils.get_or_insert_function(builder.module, shape, name), values)


def _deciding(decide: Any) -> Any:
    """The intrinsic that writes the changes of a block, which `decide` makes masks of."""

    @intrinsic
    def changes_of_block(
        typing: Any,
        columns: Any,
        at: Any,
        move: Any,
        entries: Any,
        block: Any,
        ends: Any,
        sign: Any,
        picks: Any,
    ) -> Any:
        whole = types.int64

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            columns, at, move, entries, block, ends, sign, picks = values
            targets = _arrays(context, builder, signature.args[0], columns)
            _, bounds, tags = _arrays(context, builder, signature.args[3], entries)
            table = context.make_array(signature.args[7])(context, builder, picks).data
            spread = [_spread(builder, v, HALF) for v in cgutils.unpack_tuple(builder, ends, 4)]
            first = builder.mul(block, I64(SIDES * LANES))
            masks, bits = [], I32(0)
            for half in range(0, LANES, HALF):
                places = [builder.add(first, I64(LANES * k + half)) for k in range(SIDES)]
                sides = [
                    builder.load(_lanes_at(builder, bounds, place, F64, HALF), align=8)
                    for place in places
                ]
                chosen, entered = decide(builder, sides, spread)
                chosen = builder.bitcast(chosen, ir.VectorType(F64, HALF))
                some = _call(builder, "llvm.x86.avx.movmsk.pd.256", I32, chosen)
                bits = builder.or_(bits, builder.shl(some, I32(half)))
                masks.append(entered)
            bits = builder.zext(bits, I64)

            eight = ir.VectorType(I32, LANES)
            entered = builder.shuffle_vector(*masks, ir.Constant(eight, list(range(LANES))))
            same = builder.trunc(entered, eight)
            left = builder.xor(same, _spread(builder, builder.neg(sign), LANES))
            left = builder.and_(left, ir.Constant(eight, [-(2**31)] * LANES))
            row, order = builder.mul(block, I64(LANES)), builder.mul(bits, I64(LANES))
            tag = builder.load(_lanes_at(builder, tags, row, I32), align=4)
            order = builder.load(_lanes_at(builder, table, order, I32), align=4)
            tag = _call(builder, "llvm.x86.avx2.permd", eight, builder.or_(tag, left), order)

            number = builder.and_(tag, ir.Constant(eight, [2**31 - 1] * LANES))
            signs = builder.ashr(tag, ir.Constant(eight, [31] * LANES))
            signs = builder.or_(signs, ir.Constant(eight, [1] * LANES))
            moves = _spread(builder, move, LANES)
            builder.store(moves, _lanes_at(builder, targets[0], at, I64), align=8)
            wide = builder.zext(number, ir.VectorType(I64, LANES))
            builder.store(wide, _lanes_at(builder, targets[1], at, I64), align=8)
            narrow = builder.trunc(signs, ir.VectorType(I8, LANES))
            builder.store(narrow, _lanes_at(builder, targets[2], at, I8), align=1)
            return builder.ctpop(bits)

        kinds = [columns, whole, whole, entries, whole, ends, types.int32, picks]
        return whole(*kinds), generate

    return changes_of_block


_cross_block, _leave_block = _deciding(_crosses), _deciding(_leaves)


@overload(cross_block, strict=False)
def _compiled_cross_block(
    columns: Any, at: Any, move: Any, entries: Any, block: Any, ends: Any, sign: Any
) -> Any:
    def call(
        columns: Any, at: Any, move: Any, entries: Any, block: Any, ends: Any, sign: Any
    ) -> Any:
        return _cross_block(columns, at, move, entries, block, ends, sign, PICKS)

    return call if CAN_PICK else cross_block


@overload(leave_block, strict=False)
def _compiled_leave_block(
    columns: Any, at: Any, move: Any, entries: Any, block: Any, ends: Any, sign: Any
) -> Any:
    def call(
        columns: Any, at: Any, move: Any, entries: Any, block: Any, ends: Any, sign: Any
    ) -> Any:
        return _leave_block(columns, at, move, entries, block, ends, sign, PICKS)

    return call if CAN_PICK else leave_block
