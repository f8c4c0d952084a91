"""Commands as rows of the log, and rows of the log as commands.

A command is one row. A bulk registration is one row that describes its block, and a row for each
query after it: `boxes` and its `box` rows, `regions` and its `region` rows. All columns of a row
are those of the log's schema:

| column | box | region |
| --- | --- | --- |
| `definition` | | the condition, as JSON of the model; null for none |
| `text` | | the properties |
| `lo` | lower bounds on DOUBLE attributes | all coordinates, x and y in turn |
| `hi` | upper bounds | how far a corridor goes, else NaN |
| `first` | lower bounds on other numbers | the vertices of each ring |
| `last` | upper bounds, inclusive | the rings of each part |
| `keys` | the strings | the form |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.catalog import codec
from watchline.catalog.boxes import BoxBlock
from watchline.catalog.log import SCHEMA
from watchline.catalog.query_blocks import Block
from watchline.catalog.region_blocks import FORMS, RegionBlock, form_numbers
from watchline.kernels.arrays import Integers
from watchline.model import TRUE, Condition

if TYPE_CHECKING:
    from watchline.index import RegionColumns

Row = dict[str, Any]
# The commands that describe a block; the rows of its queries have the other word.
BULK = {"boxes": "box", "regions": "region"}


def steps(rows: pa.Table) -> Iterator[tuple[Row, Block | None]]:
    """The commands in order; the queries of a bulk registration come as one block."""
    of_block = pc.is_in(rows["op"], pa.array(list(BULK.values()))).to_numpy()
    commands = np.flatnonzero(~of_block)
    # The queries of a block follow its description, so the gap to the next command holds them.
    ends = np.append(commands, rows.num_rows)[1:]
    columns = ["version", "position", "op", "id", "definition", "text"]
    listed = rows.select(columns).take(pa.array(commands)).to_pylist()
    for row, start, end in zip(listed, commands, ends, strict=True):
        if row["op"] not in BULK:
            yield row, None
            continue
        read = _boxes if row["op"] == "boxes" else _regions
        yield row, read(row, rows.slice(start + 1, end - start - 1))


def block_rows(block: Block, version: int, position: int = 0) -> pa.Table:
    """A block as rows of the log, the first of them at this position."""
    n = len(block)
    if isinstance(block, BoxBlock):
        op, definition, columns = _box_columns(block)
    else:
        assert isinstance(block, RegionBlock)
        op, definition, columns = _region_columns(block)
    head = command_rows(version, [{"op": op, "definition": definition}], position)
    columns |= {
        "version": pa.array(np.full(n, version)),
        "position": pa.array(np.arange(position + 1, position + n + 1)),
        "op": pa.repeat(BULK[op], n),
        "id": block.ids,
    }
    missing = {f.name: pa.nulls(n, f.type) for f in SCHEMA if f.name not in columns}
    return pa.concat_tables([head, pa.table(columns | missing).select(SCHEMA.names).cast(SCHEMA)])


def drop_rows(ids: pa.Array, version: int) -> pa.Table:
    """The rows of the log that drop these queries."""
    n = len(ids)
    columns = {name: pa.nulls(n, SCHEMA.field(name).type) for name in SCHEMA.names}
    columns |= {
        "version": pa.array(np.full(n, version)),
        "position": pa.array(np.arange(n)),
        "op": pa.repeat("drop", n),
        "id": ids,
    }
    return pa.table(columns, schema=SCHEMA)


def command_rows(version: int, commands: list[Row], position: int = 0) -> pa.Table:
    """Commands of one version as rows of the log, in their order."""
    blank = dict.fromkeys(SCHEMA.names)
    rows = [
        {**blank, "version": version, "position": i, **c} for i, c in enumerate(commands, position)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _one(rows: pa.Table, name: str) -> pa.Array:
    column = rows[name]
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _numbers(values: pa.Array) -> Any:
    return values.to_numpy(zero_copy_only=False)


def _lists(values: pa.Array, ends: Any) -> pa.Array:
    """Lists of these values; each ends where the next one begins."""
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values)


# --- boxes


def _boxes(row: Row, boxes: pa.Table) -> BoxBlock:
    stream, emit, doubles, integers, strings = codec.loads(row["definition"])
    n = boxes.num_rows

    def matrix(name: str, width: int) -> Any:
        return _numbers(_one(boxes, name).flatten()).reshape(n, width)

    values = _one(boxes, "keys").flatten()
    width = len(strings)
    return BoxBlock(
        version=row["version"],
        stream=stream,
        emit=emit,
        doubles=doubles,
        integers=integers,
        strings=strings,
        ids=_one(boxes, "id"),
        lo=matrix("lo", len(doubles)),
        hi=matrix("hi", len(doubles)),
        first=matrix("first", len(integers)),
        last=matrix("last", len(integers)),
        keys=tuple(values.take(pa.array(np.arange(n) * width + j)) for j in range(width)),
    )


def _box_columns(block: BoxBlock) -> tuple[str, str, dict[str, pa.Array]]:
    n = len(block)
    parts = (block.stream, block.emit, block.doubles, block.integers, block.strings)
    columns = {
        "lo": _equal_lists(pa.array(block.lo.ravel()), n, len(block.doubles)),
        "hi": _equal_lists(pa.array(block.hi.ravel()), n, len(block.doubles)),
        "first": _equal_lists(pa.array(block.first.ravel()), n, len(block.integers)),
        "last": _equal_lists(pa.array(block.last.ravel()), n, len(block.integers)),
    }
    if block.strings:
        width = len(block.strings)
        order = np.arange(n * width).reshape(width, n).T.ravel()
        values = pa.concat_arrays(block.keys).take(pa.array(order))
        columns["keys"] = _equal_lists(values, n, width)
    return "boxes", codec.dumps(parts), columns


def _equal_lists(values: pa.Array, n: int, width: int) -> pa.Array:
    """n lists of `width` values each; null where there are none."""
    if not width:
        return pa.nulls(n, pa.list_(values.type))
    return _lists(values, np.arange(n + 1) * width)


# --- regions


def _regions(row: Row, regions: pa.Table) -> RegionBlock:
    stream, emit = codec.loads(row["definition"])
    conditions, condition = _conditions(_one(regions, "definition"))
    return RegionBlock(
        version=row["version"],
        stream=stream,
        emit=emit,
        ids=_one(regions, "id"),
        conditions=conditions,
        condition=condition,
        regions=_columns(regions),
        parts=_one(regions, "last"),
        properties=_one(regions, "text"),
    )


def _columns(regions: pa.Table) -> RegionColumns:
    # Numba and shapely are loaded where there are regions.
    from watchline.index import RegionColumns, with_vectors

    sizes = _one(regions, "first")
    begins = np.zeros(regions.num_rows + 1, np.int64)
    np.cumsum(_numbers(pc.list_value_length(sizes)), out=begins[1:])
    vertices = _numbers(sizes.flatten())
    starts = np.cumsum(vertices) - vertices
    stored = RegionColumns(
        forms=form_numbers(_one(regions, "keys").flatten()),
        begins=begins,
        chains=np.stack([starts, vertices - 1], axis=1),
        coordinates=_numbers(_one(regions, "lo").flatten()).reshape(-1, 2),
        reach=_numbers(_one(regions, "hi").flatten()),
    )
    return with_vectors(stored)


def _conditions(texts: pa.Array) -> tuple[tuple[Condition, ...], Integers]:
    """The conditions, each once, and which of them each query has."""
    coded = texts.dictionary_encode("encode")
    listed = coded.dictionary.to_pylist()
    made = tuple((TRUE,) if text is None else codec.loads(text) for text in listed)
    return made, np.asarray(coded.indices.to_numpy(), np.int64)


def _region_columns(block: RegionBlock) -> tuple[str, str, dict[str, pa.Array]]:
    from watchline.index import without_vectors

    n, regions = len(block), without_vectors(block.regions)
    vertices = regions.chains[:, 1] + 1
    ends = np.concatenate([[0], np.cumsum(vertices)])[regions.begins]
    texts = [None if c == (TRUE,) else codec.dumps(c) for c in block.conditions]
    columns = {
        "definition": pa.array(texts, pa.string()).take(pa.array(block.condition)),
        "text": block.properties,
        "lo": _lists(pa.array(regions.coordinates.ravel()), 2 * ends),
        "hi": _lists(pa.array(regions.reach), np.arange(n + 1)),
        "first": _lists(pa.array(vertices), regions.begins),
        "last": block.parts,
        "keys": _lists(pa.array(FORMS).take(pa.array(regions.forms)), np.arange(n + 1)),
    }
    return "regions", codec.dumps((block.stream, block.emit)), columns
