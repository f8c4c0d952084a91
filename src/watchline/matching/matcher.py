"""`wl.Matcher`: rows in, matches out, without Spark.

What a row of the result looks like is decided here, for Spark's workers as well: `query_id` and
the row's own columns, or those that all queries select.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from watchline.catalog import Call, CatalogLike, agreed, opened_catalog, warn_unanswered
from watchline.errors import SchemaMismatch, UnknownVersion
from watchline.matching.engine import MatchPairs, PairMatcher
from watchline.model import Emit, Stream
from watchline.rows import check_rows, taken_rows

QUERY_ID = "query_id"
_QUERY_ID_FIELD = pa.field(QUERY_ID, pa.string())


class Matcher:
    """The EMIT MATCHES queries of one stream of a catalog, which meet each row on its own.

    `catalog` is a Catalog, its path, or SQL statements; `version` is where to start, the newest if
    None. Nothing is kept of the rows. Queries of the stream that emit changes are not answered: an
    `UnansweredWarning` names them.
    """

    def __init__(self, catalog: CatalogLike, stream: str, version: int | None = None):
        opened = opened_catalog(catalog)
        self._pairs = PairMatcher(opened, stream, version)
        self._catalog, self._call = opened, Call.of(Emit.MATCHES, stream)
        queries = opened.queries(self.version)
        warn_unanswered(queries, self._call, "wl.Matcher")
        self._selected = agreed(queries, self._call, "wl.Matcher")
        self._counts: Counter[str] = Counter()
        # The schema of the last rows, the stream that they fit, and whether the schema is plain.
        self._checked: tuple[pa.Schema, Stream, bool] | None = None

    @property
    def version(self) -> int:
        """The catalog's version whose queries are matched."""
        return self._pairs.version

    @property
    def stream(self) -> Stream:
        """The stream as it is declared at this version."""
        return self._pairs.stream

    def match(self, rows: pa.Table | pa.RecordBatch) -> pa.Table:
        """Each row once for every query it satisfies: `query_id`, and the row's own columns.

        Where all queries selected the same attributes when the matcher was made, only those columns
        come out, as from `wl.matches`. The order is not specified. NULL and NaN fail the conditions
        on them. Refused rows (`SchemaMismatch`) are not counted.
        """
        given = _in_one_piece(rows if self._check(rows) else bare(rows))
        pairs = self._pairs.match(given)
        self._counts["rows"] += given.num_rows
        self._counts["matches"] += len(pairs)
        return match_table(pairs, given, self._selected)

    def _check(self, rows: object) -> bool:
        """Refuse what are no rows of the stream; whether their schema has names and types alone, as
        that of a result has."""
        if not isinstance(rows, (pa.Table, pa.RecordBatch)):
            raise SchemaMismatch(
                f"rows come as a pyarrow Table or RecordBatch, not as {type(rows).__name__}"
            )
        known = self._checked
        if (
            known is None
            or known[1] is not self.stream
            or not known[0].equals(rows.schema, check_metadata=True)
        ):
            check_rows(rows.schema, self.stream, own=(QUERY_ID,))
            names_and_types = pa.schema([(field.name, field.type) for field in rows.schema])
            plain = rows.schema.equals(names_and_types, check_metadata=True)
            known = self._checked = rows.schema, self.stream, plain
        return known[2]

    def advance_to(self, version: int) -> None:
        """Follow the catalog to a version, or go back to one: rows meet its queries from now on."""
        if not isinstance(version, int) or isinstance(version, bool):
            raise UnknownVersion(f"a version is a whole number, not {version!r}")
        declared = self.stream
        self._pairs.advance(version)
        if self.stream != declared:
            # Declared anew: it may lack what queries selected before.
            self._selected = agreed(self._catalog.queries(version), self._call, "wl.Matcher")

    def stats(self) -> dict[str, int]:
        """The version, its queries, and what was counted since the matcher was made."""
        return {
            "version": self.version,
            "queries": len(self._pairs),
            "unanswered": self._pairs.unanswered,
            "rows": self._counts["rows"],
            "matches": self._counts["matches"],
        }


def match_table(
    pairs: MatchPairs, rows: pa.Table | pa.RecordBatch, columns: Sequence[str] | None
) -> pa.Table:
    """The query of each pair, and these columns of its row; all if None. `rows` are `bare`, so that
    no call makes columns that those of other calls cannot stand below."""
    if columns is not None:
        rows = rows.select(columns)
    if isinstance(rows, pa.Table):
        return rows.take(pa.array(pairs.rows)).add_column(0, _QUERY_ID_FIELD, pairs.ids)
    matched = taken_rows(rows, pairs.rows).add_column(0, _QUERY_ID_FIELD, pairs.ids)
    return pa.Table.from_batches([matched])


def bare(rows: pa.Table | pa.RecordBatch) -> pa.Table | pa.RecordBatch:
    """The rows in columns that have names and types alone, as those of a result have."""
    return type(rows).from_arrays(rows.columns, rows.schema.names)


def _in_one_piece(rows: pa.Table | pa.RecordBatch) -> pa.Table | pa.RecordBatch:
    """The rows as a batch, of which few are taken faster. A table whose columns are in several
    pieces stays one: they are not worth joining for the rows of some."""
    if isinstance(rows, pa.Table):
        batches = rows.to_batches()
        if len(batches) == 1:
            return batches[0]
    return rows
