"""`wl.matches`: every row of a DataFrame with every EMIT MATCHES query it satisfies.

The driver checks the DataFrame against the declared stream and chooses the columns; the rows meet
the queries in `worker.MatchTask`. Batch and streaming DataFrames take the same way, without a
shuffle.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from os import PathLike, fspath
from typing import Union

from pyspark.sql import DataFrame
from pyspark.sql import types as st

from watchline.catalog import Catalog, Queries
from watchline.errors import SchemaMismatch
from watchline.model import Emit, Stream, Type
from watchline.spark.worker import CatalogRef, MatchTask

CatalogLike = Union[Catalog, str, "PathLike[str]", Iterable[str]]

_INTEGERS = (st.ByteType, st.ShortType, st.IntegerType)
_FITS: dict[Type, tuple[type[st.DataType], ...]] = {
    Type.DOUBLE: (st.DoubleType, st.FloatType, *_INTEGERS),
    Type.BIGINT: (st.LongType, *_INTEGERS),
    Type.STRING: (st.StringType,),
    Type.BOOLEAN: (st.BooleanType,),
    Type.TIMESTAMP: (st.TimestampType, st.TimestampNTZType),
}


def matches(df: DataFrame, catalog: CatalogLike, stream: str) -> DataFrame:
    """The matches of a batch or streaming DataFrame: `query_id`, and the row's own columns.

    `catalog` is a Catalog, its path, or a list of SQL statements. Where all queries select the same
    attributes only those columns come out. A streaming result follows the catalog: each micro-batch
    uses the newest version when it first runs, and the same one if it is ever run again.
    """
    opened = _opened(catalog)
    ref = reference(opened)
    version = opened.version
    declared = opened.stream(stream, version)
    check_schema(df.schema, declared)
    columns = selected(opened.queries(version), declared, df.columns)
    task = MatchTask(ref, stream, columns, None if df.isStreaming else version)
    schema = st.StructType(
        [st.StructField("query_id", st.StringType()), *(df.schema[name] for name in columns)]
    )
    return df.mapInArrow(task, schema)


def _opened(catalog: CatalogLike) -> Catalog:
    if isinstance(catalog, Catalog):
        return catalog
    if isinstance(catalog, (str, PathLike)):
        return Catalog(fspath(catalog), create=False)
    return Catalog.of(catalog)


def reference(catalog: Catalog) -> CatalogRef:
    """How workers find the catalog."""
    if catalog.uri is None:
        return CatalogRef(statements=catalog.statements())
    # Workers may have another working folder.
    uri = catalog.uri if catalog.folder is None else os.path.abspath(catalog.folder)
    options = tuple(sorted((catalog.storage_options or {}).items()))
    return CatalogRef(uri, catalog.id, options)


def check_schema(schema: st.StructType, stream: Stream) -> None:
    """Refuse a DataFrame that is not the declared stream, naming all that is wrong."""
    types = {f.name: f.dataType for f in schema.fields}
    wrong = []
    for attribute in stream.attributes:
        found = types.get(attribute.name)
        if found is None:
            wrong.append(f"column {attribute.name!r} ({attribute.type.value}) is missing")
        elif not isinstance(found, _FITS[attribute.type]):
            wrong.append(
                f"column {attribute.name!r} is {found.simpleString()},"
                f" not {attribute.type.value}: cast it"
            )
    if "query_id" in types:
        wrong.append("column 'query_id' is in the way of the result's own: rename it")
    if len(types) < len(schema.fields):
        wrong.append("two columns have the same name: rename one")
    if wrong:
        raise SchemaMismatch(
            f"the DataFrame does not fit stream {stream.name!r}: " + "; ".join(wrong)
        )


def selected(queries: Queries, stream: Stream, columns: list[str]) -> tuple[str, ...]:
    """The columns that come out: those all queries select, or else the whole row."""
    lists = {
        None if e.query.select is None else tuple(a.name for a in e.query.select)
        for e in queries.on(stream.name).entries.values()
        if e.query.emit is Emit.MATCHES and not e.query.is_join
    }
    boxes = any(b.stream == stream.name and b.emit is Emit.MATCHES for b in queries.blocks)
    agreed = lists.pop() if len(lists) == 1 and not boxes else None
    return tuple(columns) if agreed is None else tuple(dict.fromkeys(agreed))
