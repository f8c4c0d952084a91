"""What Numba does not offer: fetch memory ahead, move or compare a block at once, count bits.

Search is bound by memory, not by arithmetic. A batch is answered in small groups: first the places
of all points of a group are computed and fetched ahead, then the lists, and only then are the ids
moved, sixteen at a time, whether or not so many are needed: what is too much is overwritten by the
next. Arrays that are read or written this way have `SLACK` elements more than they use.

As plain Python (in tests of the kernels without a compiler) they are ordinary functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from watchline.kernels.arrays import Array, Bytes, Codes, Int, Small, Words
from watchline.kernels.compiled import leaf

BLOCK = 16
SLACK = BLOCK
# Elements that are looked at together: the bits of a word.
LANES = 64

# A tuple whose length, the words of a row, is known when a kernel is compiled.
Lanes = tuple[int, ...]


def prefetch(array: Array, at: Int) -> None:
    """Ask for the cache line where array[at] begins."""


def move_block(target: Array, at: Int, source: Array, start: Int) -> None:
    """target[at : at + 16] = source[start : start + 16], of integer arrays of any width."""
    target[at : at + BLOCK] = source[start : start + BLOCK]


def zeros(array: Array, at: Int) -> Any:
    """Which of array[at : at + 64] are zero, as the bits of a number, the first the lowest."""
    return np.uint64(sum(1 << i for i in range(LANES) if not array[at + i]))


def lowest(bits: Any) -> int:
    """The place of the lowest bit of a number that is not zero."""
    return (int(bits) & -int(bits)).bit_length() - 1


def ones(bits: Any) -> int:
    """How many bits of a number are set."""
    return int(bits).bit_count()


def bit_length(value: Int) -> int:
    """Bits of a number that is not negative; zero has none."""
    return int(value).bit_length()


@intrinsic
def _prefetch(typing: Any, array: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind, _ = signature.args
        found = context.make_array(kind)(context, builder, values[0])
        byte, i32 = ir.IntType(8).as_pointer(), ir.IntType(32)
        # The first axis need not be contiguous.
        stride = cgutils.unpack_tuple(builder, found.strides, kind.ndim)[0]
        place = builder.gep(builder.bitcast(found.data, byte), [builder.mul(values[1], stride)])
        shape = ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32])
        fetch = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0i8")
        # Of data, to read, to be kept in every cache.
        builder.call(fetch, [place, i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(array, at), generate


@intrinsic
def _move_block(typing: Any, target: Any, at: Any, source: Any, start: Any) -> Any:
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
def _bit_length(typing: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        zeros = builder.ctlz(values[0], ir.Constant(ir.IntType(1), 0))
        return builder.sub(ir.Constant(ir.IntType(64), 64), zeros)

    return types.int64(types.int64), generate


def set_words(target: Words, at: Int, source: Words, start: Int, words: Lanes) -> Any:
    """target[at] = source[start], of rows of as many words as the tuple has; whether any bit is set
    in them."""
    target[at] = source[start]
    return bool(target[at].any())


def and_words(target: Words, at: Int, source: Words, start: Int, words: Lanes) -> Any:
    """target[at] &= source[start], as `set_words`."""
    target[at] &= source[start]
    return bool(target[at].any())


def _words_at(context: Any, builder: Any, kind: Any, array: Any, row: Any, words: int) -> Any:
    """The place of a row of an array of uint64, as one vector."""
    data = context.make_array(kind)(context, builder, array).data
    first = builder.mul(row, ir.Constant(ir.IntType(64), words))
    vector = ir.VectorType(ir.IntType(64), words)
    return builder.bitcast(builder.gep(data, [first]), vector.as_pointer())


def _combine(operation: Any) -> Any:
    @intrinsic
    def combine(typing: Any, target: Any, at: Any, source: Any, start: Any, words: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            n = len(words)
            into = _words_at(context, builder, signature.args[0], values[0], values[1], n)
            out_of = _words_at(context, builder, signature.args[2], values[2], values[3], n)
            found = operation(builder, into, builder.load(out_of, align=8))
            builder.store(found, into, align=8)
            shape = ir.FunctionType(ir.IntType(64), [found.type])
            name = f"llvm.vector.reduce.or.v{n}i64"
            reduce = cgutils.get_or_insert_function(builder.module, shape, name)
            return builder.icmp_unsigned(
                "!=", builder.call(reduce, [found]), ir.Constant(ir.IntType(64), 0)
            )

        return types.boolean(target, types.uint64, source, types.uint64, words), generate

    return combine


_set_words = _combine(lambda builder, into, value: value)
_and_words = _combine(lambda builder, into, value: builder.and_(builder.load(into, align=8), value))


@overload(set_words, strict=False)
def _compiled_set_words(target: Any, at: Any, source: Any, start: Any, words: Any) -> Any:
    return lambda target, at, source, start, words: _set_words(
        target, np.uint64(at), source, np.uint64(start), words
    )


@overload(and_words, strict=False)
def _compiled_and_words(target: Any, at: Any, source: Any, start: Any, words: Any) -> Any:
    return lambda target, at, source, start, words: _and_words(
        target, np.uint64(at), source, np.uint64(start), words
    )


def transpose_bits(target: Bytes, at: Int, words: Words, first: Int) -> None:
    """Bit i of words[first + k] becomes bit k of target[at + i], for k to 8 and i to 64."""
    eight = np.ascontiguousarray(words[int(first) : int(first) + 8])
    bits = np.unpackbits(eight.view(np.uint8).reshape(8, 8), axis=1, bitorder="little")
    target[int(at) : int(at) + 64] = np.packbits(bits, axis=0, bitorder="little")[0]


def pick(target: Small, at: Int, source: Small, of: Int, bits: Int) -> None:
    """The elements of source[of : of + 8] whose bit is set, to target[at …]; eight are written."""
    chosen = source[int(of) : int(of) + 8][PICKS[int(bits)]]
    target[int(at) : int(at) + 8] = chosen


def pick_block(target: Small, at: Int, source: Small, of: Int, bits: Int) -> None:
    """The same of source[of : of + 16]; sixteen are written."""
    low, high = int(bits) & 255, int(bits) >> 8
    pick(target, at, source, of, low)
    pick(target, int(at) + int(ONES[low]), source, int(of) + 8, high)


def reached(
    codes: Codes,
    at: Int,
    low: Codes,
    high: Codes,
) -> tuple[Any, Any]:
    """Which of the 64 columns of codes[at] reach from `low` to `high`, and which just do, as bits.

    The rows are a lower and an upper code for each dimension. A column reaches if its lower code is
    not above `high` and its upper code not below `low`, everywhere; it just does if some are equal.
    """
    lower, upper = codes[at, 0::2], codes[at, 1::2]
    reaches = (lower <= high[:, None]) & (upper >= low[:, None])
    equal = (lower == high[:, None]) | (upper == low[:, None])
    powers = np.uint64(1) << np.arange(LANES, dtype=np.uint64)
    return powers[reaches.all(axis=0)].sum(), powers[equal.any(axis=0)].sum()


@intrinsic
def _reached(typing: Any, codes: Any, at: Any, low: Any, high: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        i16, i64 = ir.IntType(16), ir.IntType(64)
        lanes = ir.VectorType(i16, LANES)
        table = context.make_array(signature.args[0])(context, builder, values[0])
        ends = [context.make_array(signature.args[i])(context, builder, values[i]) for i in (2, 3)]
        sides = cgutils.unpack_tuple(builder, table.shape, 3)[1]
        rows = builder.bitcast(table.data, lanes.as_pointer())
        first = builder.mul(values[1], sides)
        # Kept as whole numbers of all ones or zeros, which stay in registers.
        outside, equal = (
            cgutils.alloca_once_value(builder, ir.Constant(lanes, None)) for _ in "12"
        )

        def add(total: Any, found: Any) -> None:
            builder.store(builder.or_(builder.load(total), builder.sext(found, lanes)), total)

        with cgutils.for_range(builder, cgutils.unpack_tuple(builder, ends[0].shape, 1)[0]) as loop:
            low_d, high_d = (
                _in_all_lanes(builder, lanes, builder.load(builder.gep(array.data, [loop.index])))
                for array in ends
            )
            at_d = builder.add(first, builder.mul(loop.index, ir.Constant(i64, 2)))
            lower = builder.load(builder.gep(rows, [at_d]), align=2)
            after = builder.add(at_d, ir.Constant(i64, 1))
            upper = builder.load(builder.gep(rows, [after]), align=2)
            add(outside, builder.icmp_unsigned(">", lower, high_d))
            add(outside, builder.icmp_unsigned("<", upper, low_d))
            add(equal, builder.icmp_unsigned("==", lower, high_d))
            add(equal, builder.icmp_unsigned("==", upper, low_d))
        none = ir.Constant(lanes, None)
        inside = builder.icmp_unsigned("==", builder.load(outside), none)
        near = builder.icmp_unsigned("!=", builder.load(equal), none)
        found = [builder.bitcast(bits, i64) for bits in (inside, near)]
        return context.make_tuple(builder, signature.return_type, found)

    bits = types.containers.UniTuple(types.uint64, 2)
    return bits(codes, types.uint64, low, high), generate


@overload(reached, strict=False)
def _compiled_reached(codes: Any, at: Any, low: Any, high: Any) -> Any:
    return lambda codes, at, low, high: _reached(codes, np.uint64(at), low, high)


def between(codes: Codes, at: Int, side: Int, first: Int, last: Int) -> Any:
    """Which of the 64 codes of codes[at, side] are from `first` to `last`, as bits."""
    found = (codes[at, side] >= first) & (codes[at, side] <= last)
    return (np.uint64(1) << np.arange(LANES, dtype=np.uint64))[found].sum()


@intrinsic
def _between(typing: Any, codes: Any, at: Any, side: Any, first: Any, last: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        lanes = ir.VectorType(ir.IntType(16), LANES)
        table = context.make_array(signature.args[0])(context, builder, values[0])
        sides = cgutils.unpack_tuple(builder, table.shape, 3)[1]
        row = builder.add(builder.mul(values[1], sides), values[2])
        rows = builder.bitcast(table.data, lanes.as_pointer())
        code = builder.load(builder.gep(rows, [row]), align=2)
        above = builder.icmp_unsigned(">=", code, _in_all_lanes(builder, lanes, values[3]))
        below = builder.icmp_unsigned("<=", code, _in_all_lanes(builder, lanes, values[4]))
        return builder.bitcast(builder.and_(above, below), ir.IntType(64))

    row, code = types.uint64, types.uint16
    return types.uint64(codes, row, row, code, code), generate


@overload(between, strict=False)
def _compiled_between(codes: Any, at: Any, side: Any, first: Any, last: Any) -> Any:
    return lambda codes, at, side, first, last: _between(
        codes, np.uint64(at), np.uint64(side), np.uint16(first), np.uint16(last)
    )


def _in_all_lanes(builder: Any, lanes: Any, value: Any) -> Any:
    """A vector that has this value everywhere."""
    i32 = ir.IntType(32)
    start = builder.insert_element(ir.Constant(lanes, ir.Undefined), value, ir.Constant(i32, 0))
    zeros = ir.Constant(ir.VectorType(i32, LANES), None)
    return builder.shuffle_vector(start, ir.Constant(lanes, ir.Undefined), zeros)


# For each byte the places of its bits, the lowest first, and the number of them.
PICKS = np.zeros((256, 8), dtype=np.int32)
ONES = np.zeros(256, dtype=np.uint64)
for _byte in range(256):
    _places = [i for i in range(8) if _byte >> i & 1]
    PICKS[_byte, : len(_places)] = _places
    ONES[_byte] = len(_places)

# Whether eight integers can be put into any order by one instruction, and whether some of sixteen
# can be moved together by one.
CAN_PICK = bool(llvm.get_host_cpu_features().get("avx2", False))
CAN_COMPRESS = bool(llvm.get_host_cpu_features().get("avx512f", False))


@intrinsic
def _transpose_bits(typing: Any, target: Any, at: Any, words: Any, first: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        i64, i32 = ir.IntType(64), ir.IntType(32)
        eight = ir.VectorType(i64, 8)
        out_of = context.make_array(signature.args[2])(context, builder, values[2]).data
        out_of = builder.bitcast(builder.gep(out_of, [values[3]]), eight.as_pointer())
        block = builder.load(out_of, align=8)
        # First whole bytes change places, then the bits of each square of eight bytes.
        in_bytes = ir.VectorType(ir.IntType(8), 64)
        swapped = ir.Constant(ir.VectorType(i32, 64), [8 * (i % 8) + i // 8 for i in range(64)])
        block = builder.bitcast(block, in_bytes)
        block = builder.shuffle_vector(block, ir.Constant(in_bytes, ir.Undefined), swapped)
        block = builder.bitcast(block, eight)
        for shift, mask in _SQUARE:
            by, only = ir.Constant(eight, [shift] * 8), ir.Constant(eight, [mask] * 8)
            moved = builder.and_(builder.xor(block, builder.lshr(block, by)), only)
            block = builder.xor(builder.xor(block, moved), builder.shl(moved, by))
        into = context.make_array(signature.args[0])(context, builder, values[0]).data
        into = builder.bitcast(builder.gep(into, [values[1]]), eight.as_pointer())
        builder.store(block, into, align=1)
        return context.get_dummy_value()

    return types.void(target, types.uint64, words, types.uint64), generate


# How far apart the two bits are that a step exchanges, and the lower ones of them.
_SQUARE = ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0))


@overload(transpose_bits, strict=False)
def _compiled_transpose_bits(target: Any, at: Any, words: Any, first: Any) -> Any:
    return lambda target, at, words, first: _transpose_bits(
        target, np.uint64(at), words, np.uint64(first)
    )


@intrinsic
def _pick(typing: Any, target: Any, at: Any, source: Any, of: Any, picks: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        eight = ir.VectorType(ir.IntType(32), 8)

        def place(i: int, at: Any) -> Any:
            data = context.make_array(signature.args[i])(context, builder, values[i]).data
            return builder.bitcast(builder.gep(data, [at]), eight.as_pointer())

        wide = ir.Constant(ir.IntType(64), 8)
        source = builder.load(place(2, values[3]), align=4)
        order = builder.load(place(4, builder.mul(values[5], wide)), align=4)
        shape = ir.FunctionType(eight, [eight, eight])
        permute = cgutils.get_or_insert_function(builder.module, shape, "llvm.x86.avx2.permd")
        builder.store(builder.call(permute, [source, order]), place(0, values[1]), align=4)
        return context.get_dummy_value()

    return types.void(target, types.uint64, source, types.uint64, picks, types.uint64), generate


@overload(pick, strict=False)
def _compiled_pick(target: Any, at: Any, source: Any, of: Any, bits: Any) -> Any:
    if CAN_PICK:
        return lambda target, at, source, of, bits: _pick(
            target, np.uint64(at), source, np.uint64(of), PICKS, np.uint64(bits)
        )

    def one_by_one(target: Any, at: Any, source: Any, of: Any, bits: Any) -> None:
        for i in range(8):
            target[at + np.uint64(i)] = source[of + np.uint64(PICKS[bits, i])]

    return one_by_one


@intrinsic
def _compress(typing: Any, target: Any, at: Any, source: Any, of: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        block = ir.VectorType(ir.IntType(32), BLOCK)
        mask = ir.VectorType(ir.IntType(1), BLOCK)

        def place(i: int) -> Any:
            data = context.make_array(signature.args[i])(context, builder, values[i]).data
            return builder.bitcast(builder.gep(data, [values[i + 1]]), block.as_pointer())

        chosen = builder.bitcast(builder.trunc(values[4], ir.IntType(BLOCK)), mask)
        shape = ir.FunctionType(block, [block, block, mask])
        name = "llvm.x86.avx512.mask.compress.v16i32"
        compress = cgutils.get_or_insert_function(builder.module, shape, name)
        # Into a register first: straight into memory it is many times slower.
        found = builder.call(
            compress, [builder.load(place(2), align=4), ir.Constant(block, None), chosen]
        )
        builder.store(found, place(0), align=4)
        return context.get_dummy_value()

    return types.void(target, types.uint64, source, types.uint64, types.uint64), generate


@overload(pick_block, strict=False)
def _compiled_pick_block(target: Any, at: Any, source: Any, of: Any, bits: Any) -> Any:
    if CAN_COMPRESS:
        return lambda target, at, source, of, bits: _compress(
            target, np.uint64(at), source, np.uint64(of), np.uint64(bits)
        )

    def in_halves(target: Any, at: Any, source: Any, of: Any, bits: Any) -> None:
        low = bits & np.uint64(255)
        pick(target, at, source, of, low)
        pick(target, at + ONES[low], source, of + np.uint64(8), bits >> np.uint64(8))

    return in_halves


@intrinsic
def _zeros(typing: Any, array: Any, at: Any) -> Any:
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
def _lowest(typing: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.cttz(values[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


@intrinsic
def _ones(typing: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.ctpop(values[0])

    return types.int64(types.uint64), generate


@overload(ones, strict=False)
def _compiled_ones(bits: Any) -> Any:
    return lambda bits: _ones(np.uint64(bits))


@overload(zeros, strict=False)
def _compiled_zeros(array: Any, at: Any) -> Any:
    return lambda array, at: _zeros(array, np.int64(at))


@overload(lowest, strict=False)
def _compiled_lowest(bits: Any) -> Any:
    return lambda bits: _lowest(np.uint64(bits))


@overload(bit_length, strict=False)
def _compiled_bit_length(value: Any) -> Any:
    return lambda value: _bit_length(np.int64(value))


@overload(prefetch, strict=False)
def _compiled_prefetch(array: Any, at: Any) -> Any:
    return lambda array, at: _prefetch(array, np.int64(at))


@overload(move_block, strict=False)
def _compiled_move_block(target: Any, at: Any, source: Any, start: Any) -> Any:
    return lambda target, at, source, start: _move_block(target, at, source, start)


@leaf()
def move(
    target: Array,
    at: Int,
    source: Array,
    start: Int,
    n: Int,
) -> None:
    """target[at : at + n] = source[start : start + n], a block at a time."""
    move_block(target, at, source, start)
    i = np.uint64(BLOCK)
    while i < n:
        move_block(target, at + i, source, start + i)
        i += np.uint64(BLOCK)


@leaf()
def fetch_list(ids: Array, start: Int, length: Int) -> None:
    """Ask for the first lines of a list; the processor itself sees how a longer one goes on."""
    prefetch(ids, start)
    prefetch(ids, start + np.uint64(BLOCK))
    prefetch(ids, start + np.uint64(2 * BLOCK))
    if length > np.uint64(3 * BLOCK):
        prefetch(ids, start + np.uint64(3 * BLOCK))
        prefetch(ids, start + np.uint64(4 * BLOCK))
