"""EXPLAIN: how Watchline understands a query, how it finds its rows, and what that costs.

`Catalog.explain` calls this module; it is the one import of the catalog that goes up. The text has
two parts: `description` comes from the query's model alone; the lines of a `planner` come from the
plan of all queries that share its rows. Only the plan is made, no index is built: costs come from
the models of the indexes.

Decoding and planning a query takes about half a millisecond. So all queries are planned only where
they are few. Among more than `DECODED` the plan is that of a sample, which is drawn at random but
always the same, and the text says so. The cost is one pass over the texts of the definitions, and
`DECODED` queries to decode.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from watchline.catalog import Block, Entry, Queries, definition_of
from watchline.joining import Half, halves, way_of
from watchline.kernels.arrays import Integers
from watchline.matching import (
    Part,
    Plan,
    RegionPart,
    Residues,
    access_path,
    is_region,
    is_static,
    keys_of,
    likely_plan,
    plan_and_rest,
)
from watchline.model import (
    TRUE,
    Attribute,
    Emit,
    Inside,
    OneOf,
    Query,
    Stream,
    Type,
    interval_sql,
    shortened,
    timestamp_sql,
)
from watchline.proximity import Moving, moving
from watchline.tracking import GRID, MoveCosts, bordered_runs, candidates_that_pay, ranges_of

# The lines about the plan of a query, by its id.
PlanLines = Callable[[str], list[str]]
# What directions of joins have in common that are one, where their queries' lives allow it.
Direction = tuple[object, ...]

# Characters of a residue that are shown.
SHOWN = 200
# Queries registered as SQL that are decoded for one EXPLAIN.
DECODED = 512


def description(registered: Entry | tuple[Block, int], streams: Mapping[str, Stream]) -> list[str]:
    """How Watchline understands a registered query, in words and in normal form."""
    if isinstance(registered, Entry):
        query, version = registered.query, registered.version
        typed = shortened(" ".join(registered.text.split()))
    else:
        block, i = registered
        query, version = block.query(i), block.version
        typed = f"one {block.one} of a bulk registration"
    lines = [f"query {query.id}", f"  registered  at version {version}"]
    lines.append(f"  as typed    {typed}")
    lines.append(f"  reads       {', '.join(_source(query, streams))}")
    lines += _surface(query, streams)
    lines += _condition(query)
    if query.asks_speed:
        unit = "metres" if streams[query.stream].geography else "units"
        lines.append(f"  SPEED       {unit} per second since the object's row before; else NULL")
    if query.region:
        lines.append(f"  where       {query.region!r}")
    if query.knn:
        lines.append(f"  nearest     {query.knn!r}")
    if query.focals:
        focals = ", ".join(repr(f) for f in sorted(query.focals, key=repr))
        lines.append(f"  moves with  object {focals}, which is never in its answer")
    lines.append(f"  emits       {_emits(query)}")
    if query.accuracy:
        lines.append(f"  accuracy    at least {query.accuracy:g} when load is shed")
    if query.lifetime is not None:
        lines.append(f"  lives       {interval_sql(query.lifetime)} of stream time")
    if query.until is not None:
        moment = str(timestamp_sql(query.until)).removeprefix("TIMESTAMP ")
        lines.append(
            f"  until       {moment} UTC of stream time; rows of then and later do nothing"
        )
    if query.properties:
        lines.append(f"  properties  {shortened(query.properties, SHOWN)}")
    return lines


def _source(query: Query, streams: Mapping[str, Stream]) -> list[str]:
    read = {s.alias: s for s in query.sources}
    used = list(query.attributes())
    if query.region or query.knn or query.asks_speed:
        stream = streams[query.stream]
        point = (stream.attribute(name) for name in stream.point or ())
        used += [axis for axis in point if axis not in used]
    texts = ", ".join(f"{a!r} {a.type.value}" for a in used)
    return [f"{', '.join(repr(s) for s in read.values())} ({texts or 'no attribute'})"]


def _surface(query: Query, streams: Mapping[str, Stream]) -> list[str]:
    """What lengths count, where the query asks for places on Earth."""
    stream = streams[query.sources[0].stream]
    asks_place = query.region or query.knn or query.has_predicates
    if not (asks_place and stream.geography and stream.point):
        return []
    lon, lat = stream.point
    return [f"  on Earth    {lon!r} and {lat!r} are degrees, lengths are metres"]


def _condition(query: Query) -> list[str]:
    if query.where == (TRUE,):
        return ["  condition   none: every row"]
    if len(query.where) == 1:
        return [f"  condition   {query.where[0]!r}"]
    head = f"  condition   one of {len(query.where)} alternatives:"
    shown = [f"              {c!r}" for c in query.where[:20]]
    more = len(query.where) - len(shown)
    return [head, *shown, *([f"              … and {more} more"] if more else [])]


def _emits(query: Query) -> str:
    if query.is_join:
        return "each matching pair once"
    if query.emit is Emit.MATCHES:
        return "matches: every row that satisfies it"
    return "changes: + when an object enters its answer, - when it leaves"


# --- plans


def planner(queries: Queries, query: Query, streams: Mapping[str, Stream]) -> PlanLines:
    """The planner for this query and for all others that it is planned with: those over the same
    stream that emit the same, or all joins."""
    if query.is_join:
        return _join_planner(queries)
    return _select_planner(queries, streams[query.stream], query.emit)


@dataclass(frozen=True)
class Scale:
    """How the numbers of a plan relate to those of all queries: a sample's are multiplied."""

    times: int = 1
    # Whether the plan has all queries.
    exact: bool = True

    def count(self, number: int, one: str, many: str) -> str:
        """So many things beside the query, in words; of a sample, in round numbers."""
        if self.times == 1:
            return (
                f"no {one}" if not number else f"1 {one}" if number == 1 else f"{number:,} {many}"
            )
        if not number:
            return f"few {many} or none"
        unit = 10 ** max(0, math.floor(math.log10(number)) - 1)
        return f"about {round(number / unit) * unit:,} {many}"


def _select_planner(queries: Queries, stream: Stream, emit: Emit) -> PlanLines:
    """Gives the lines of each query. All queries are planned once if they are few."""
    if are_few(queries):
        made, undecided = plan_and_rest(queries, stream, emit)
        others = moving(undecided, stream)
        return lambda query_id: _plan_lines(made, others, emit, stream, queries[query_id], Scale())
    return lambda query_id: _likely_lines(queries, stream, emit, query_id)


def _likely_lines(queries: Queries, stream: Stream, emit: Emit, query_id: str) -> list[str]:
    sample = sample_beside(queries[query_id], queries, stream)
    # The query itself and boxes, which are columns already, stand for nothing but themselves.
    own = {query_id: queries.entries[query_id]} if query_id in queries.entries else {}
    known = Queries(queries.version, own, queries.blocks)
    made, undecided = likely_plan(sample.queries, sample.times, known, stream, emit)
    scale = Scale(sample.times, exact=False)
    query = queries[query_id]
    lines = _plan_lines(made, moving(undecided, stream), emit, stream, query, scale)
    return [*lines, estimated(sample.queries, queries)]


def estimated(sample: Queries, queries: Queries) -> str:
    """The line that says how many of the queries registered as SQL were looked at."""
    return f"  estimated   from {len(sample) + 1:,} of {len(queries.entries):,} queries"


def _plan_lines(
    made: Plan, others: Moving, emit: Emit, stream: Stream, query: Query, scale: Scale
) -> list[str]:
    line = pc.index(others.ids, query.id).as_py()
    if line >= 0:
        return _moving(others, line, stream, scale)
    boxes = np.flatnonzero(made.query == pc.index(made.ids, query.id).as_py())
    lines = []
    for part in made.parts:
        places = np.flatnonzero(np.isin(part.numbers, boxes))
        if len(places):
            lines.append(f"  planned as  {_boxes(part, places, made, scale)}")
            residues = np.unique(made.residue[part.numbers[places]])
            lines += _checked(made.residues, residues[residues >= 0].tolist(), query)
            lines += _place(part, places, emit, scale)
    return lines


def _moving(queries: Moving, line: int, stream: Stream, scale: Scale) -> list[str]:
    """A query of the shared operator, and whether its filter is asked before that or inside."""
    shape = ("", "a box that moves", "a circle that moves")[queries.form[line]]
    k = int(queries.k[line])
    nearest = f"the {k:,} nearest" if k else ""
    within = " of those in " if k and shape else ""
    others = scale.count((len(queries) - 1) * scale.times, "other query", "other queries")
    lines = [
        f"  planned as  {nearest}{within}{shape}, in a grid with {others}",
        "  decided by  " + (_KNOWN if k else _ASKED),
    ]
    number = queries.filter[line]
    if number < 0:
        return lines
    asked = queries.filters[number]
    alike = (int(np.count_nonzero(queries.filter == number)) - 1) * scale.times
    ranges = ranges_of(asked, stream)
    shared = scale.count(alike, "other query", "others that ask the same")
    if ranges is None:
        return [*lines, f"  filtered    before the operator, by the index, with {shared}"]
    count = _count(len(ranges), "range")
    lines.append(f"  filtered    inside the operator, on candidates: {count} each, with {shared}")
    share = candidates_that_pay(len(ranges)) / (alike + 1)
    if share < 1:
        lines[-1] += f"; before it, if these look at more than {share:.2%} of all objects"
    return lines


_ASKED = "asking it when an object passes its cells, and the objects there when it moves"
_KNOWN = "keeping the nearest and some more in order, and looking around when too few are left"


def _boxes(part: Part, places: Integers, made: Plan, scale: Scale) -> str:
    asked = np.flatnonzero((~np.isnan(part.hi[:, places])).any(axis=1))
    axes = [_axis(part.axes[k]) for k in asked]
    count = "a box" if len(places) == 1 else f"{len(places):,} boxes"
    if isinstance(part, RegionPart):
        besides = f", and {count} over {', '.join(axes)}" if axes else ""
        regions = "a region" if len(places) == 1 else f"{len(places):,} regions"
        return f"{regions} over {', '.join(map(repr, part.point))}{besides}"
    hold = "holds" if len(places) == 1 else "hold"
    text = f"{count} over {', '.join(axes)}" if axes else f"{count} that {hold} every row"
    if part.key is None:
        return text
    text = f"{text}, below {part.key!r}"
    # A sample does not know how many other values there are.
    values = f" with {_count(len(made.dictionaries[part.key]), 'value')}"
    return text + values if scale.exact else text


def _axis(axis: Attribute) -> str:
    return f"{axis!r} by code" if axis.type is Type.STRING else repr(axis)


def _count(number: int, of: str) -> str:
    return f"{number:,} {of}" if number == 1 else f"{number:,} {of}s"


def _checked(residues: Residues, numbers: Iterable[int], query: Query) -> Iterable[str]:
    for number in numbers:
        atoms = map(repr, residues.atoms_of(number))
        text = " AND ".join([*atoms, *_regions_left(residues, number, query)])
        yield f"  then        {shortened(text, SHOWN)}, on candidates"


def _regions_left(residues: Residues, number: int, query: Query) -> Iterator[str]:
    """The regions of a residue, which are some of its query."""
    inside = [a.region for c in query.where for a in c.atoms if isinstance(a, Inside)]
    known = [region for region in (query.region, *inside) if region is not None]
    for column, negated in residues.regions_of(number):
        for region in known:
            if is_region(column, region):  # type: ignore[arg-type]
                yield ("NOT " if negated else "") + repr(region)
                break


def _place(part: Part, places: Integers, emit: Emit, scale: Scale) -> list[str]:
    """Where the boxes stand and how they are come to; of several runs, in the longest."""
    runs = np.unique(np.searchsorted(part.starts, places, side="right") - 1)
    run = int(runs[np.argmax(part.starts[runs + 1] - part.starts[runs])])
    size = int(part.starts[run + 1] - part.starts[run])
    if part.whole and run in bordered_runs(part) and not isinstance(part, RegionPart):
        return _bordered(part, run, _among(part, size, scale))
    kind, cost = access_path(part, run)
    lines = [f"  stands in   {kind}{_among(part, size, scale)}"]
    if emit is Emit.MATCHES:
        return [*lines, f"  found by    one search, about {cost:,.0f} ns a row"]
    if isinstance(part, RegionPart) and part.whole:
        return [*lines, f"  decided by  the cells of both ends, about {2 * cost:,.0f} ns a move"]
    if part.whole:
        return [*lines, f"  decided by  comparing both rows of a move, about {2 * cost:,.0f} ns"]
    return [
        *lines,
        f"  decided by  two stabs and their difference, about {2 * cost:,.0f} ns a move",
    ]


def _bordered(part: Part, run: int, among: str) -> list[str]:
    costs = MoveCosts(part, run)
    lines = [
        f"  stands in   border lists{among}",
        "  decided by  what is cheapest for a batch:",
        f"              crossings, about {costs.ranks:,.0f} ns a move and"
        f" {costs.entry:,.0f} for each border between",
    ]
    if costs.grid is not None:
        cells = f"{costs.grid.x.strips:,} × {costs.grid.y.strips:,}"
        lines.append(
            f"              a grid of {cells}, about {costs.of(0)[GRID]:,.0f} ns a move and"
            f" {costs.nearby:.2g} for each border between"
        )
    kind = costs.index[0]
    lines.append(f"              two stabs of a {kind}, about {costs.stabs:,.0f} ns a move")
    return lines


def _among(part: Part, size: int, scale: Scale) -> str:
    if isinstance(part, RegionPart):
        return f" with {scale.count(size - 1, 'other region', 'others')}"
    others = scale.count(size - 1, "other box", "others")
    of_its_value = "" if part.key is None else " of its value"
    return f" of {_count(len(part.axes), 'dimension')} with {others}{of_its_value}"


# --- joins


def _join_planner(queries: Queries) -> PlanLines:
    """Gives the lines of each join. All queries are looked at once if they are few."""
    if are_few(queries):
        shared = _sharing(queries)
        return lambda query_id: _join_lines(queries[query_id], shared, Scale())
    return lambda query_id: _likely_join_lines(queries, query_id)


def _likely_join_lines(queries: Queries, query_id: str) -> list[str]:
    query = queries[query_id]
    sample = sample_beside(query, queries)
    shared = _sharing(sample.queries)
    # The query shares its directions with itself, too.
    counts = Counter({key: sample.times * count for key, count in shared.items()})
    counts.update({_direction(half) for half in _halves(query)})
    return [
        *_join_lines(query, counts, Scale(sample.times, exact=False)),
        estimated(sample.queries, queries),
    ]


def _sharing(queries: Queries) -> Counter[Direction]:
    """How many queries there are of each direction."""
    joins = (e.query for e in queries.entries.values() if e.query.is_join)
    return Counter(key for query in joins for key in {_direction(half) for half in _halves(query)})


def _halves(query: Query) -> list[Half]:
    return halves(query) if len(query.sources) == 2 else []


def _join_lines(query: Query, shared: Counter[Direction], scale: Scale) -> list[str]:
    parts = _halves(query)
    return _pair_lines(parts, query, shared, scale) if parts else [_chain_line(query)]


def _direction(half: Half) -> Direction:
    """Halves of one key are one direction, where their queries' lives allow it."""
    return (half.streams, half.positions, half.links, type(half.window))


def _pair_lines(
    parts: Iterable[Half], query: Query, shared: Counter[Direction], scale: Scale
) -> list[str]:
    lines = []
    for half in parts:
        who, partner = (query.sources[i].alias for i in half.positions)
        lines.append(
            f"  planned as  a row of {who} meets {partner} {half.window!r}: {way_of(half, partner)}"
        )
        others = scale.count(shared[_direction(half)] - 1, "other query", "other queries")
        lines.append(f"  shared with {others}")
    return lines


def _chain_line(query: Query) -> str:
    n = len(query.sources)
    return f"  planned as  a chain of {n} streams, joined one by one from the row that comes last"


# --- samples


@dataclass(frozen=True)
class Sample:
    """Queries, each of which stands for `times` queries."""

    queries: Queries
    times: int


def are_few(queries: Queries) -> bool:
    """Whether all queries can be looked at."""
    return len(queries.entries) <= DECODED


def sample_beside(query: Query, queries: Queries, stream: Stream | None = None) -> Sample:
    """A sample of the other queries that the same rows are compared with; `stream` is None for a
    join."""
    entries = [entry for entry in queries.entries.values() if entry.id != query.id]
    if stream is not None and is_static(query):
        entries = _below_the_same_keys(query, entries, stream)
    times = max(1, math.ceil(len(entries) / DECODED))
    chosen = random.Random(len(entries)).sample(entries, len(entries) // times)
    return Sample(Queries(queries.version, {e.id: e for e in chosen}, ()), times)


def _below_the_same_keys(query: Query, entries: list[Entry], stream: Stream) -> list[Entry]:
    """Where equality selects a sub-index, the queries whose text has one of the same values."""
    texts: list[str] = []
    for key in keys_of(query, stream):
        if key is None:
            return entries
        texts += map(definition_of, key.values if isinstance(key, OneOf) else [key])
    return [entry for entry in entries if any(text in entry.definition for text in texts)]
