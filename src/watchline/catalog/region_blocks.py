"""Regions in bulk: a hundred thousand fences as columns, never as a hundred thousand objects.

The vertices of all regions stand in one array (`RegionColumns`), as the index of regions takes
them. The fixed formulas need no more than the rings; which of these are holes of which part is kept
beside them, so that a query of the block prints as the SQL that makes it. Conditions that are alike
are kept once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from watchline import sql
from watchline.catalog.query_blocks import Block, emit_of, query_ids
from watchline.errors import InvalidQuery, InvalidRange, WatchlineError
from watchline.kernels.arrays import Integers, Mask
from watchline.model import (
    MATCHES_HAVE_NO_SPEED,
    TRUE,
    Circle,
    Condition,
    Corridor,
    Emit,
    Polygon,
    Query,
    Region,
    Source,
    Stream,
    canonical_properties,
)
from watchline.names import listing

if TYPE_CHECKING:
    from watchline.index import RegionColumns

# The names of the forms, by their numbers in the columns.
FORMS = ("polygon", "circle", "corridor", "circle on Earth", "corridor on Earth")


@dataclass(frozen=True)
class RegionBlock(Block):
    """The living queries of one `register_regions`, column by column.

    Query i has the condition `conditions[condition[i]]`; `parts[i]` lists how many rings each part
    of its polygon has; `properties[i]` is canonical JSON or null.
    """

    conditions: tuple[Condition, ...]
    condition: Integers
    regions: RegionColumns
    parts: pa.Array
    properties: pa.Array

    one = "region"

    def query(self, i: int) -> Query:
        return Query(
            self.ids[i].as_py(),
            (Source(self.stream),),
            where=self.conditions[self.condition[i]],
            region=self.region(i),
            emit=self.emit,
            properties=self.properties[i].as_py(),
        )

    @property
    def kind(self) -> object:
        forms = sorted({FORMS[form] for form in np.unique(self.regions.forms).tolist()})
        atoms = {type(atom).__name__ for c in self.conditions for each in c for atom in each.atoms}
        return forms, sorted(atoms), any(len(c) > 1 for c in self.conditions)

    def all_properties(self) -> pa.Array:
        return self.properties

    def region(self, i: int) -> Region:
        """The region of the query at this place."""
        regions = self.regions
        chains = regions.chains[regions.begins[i] : regions.begins[i + 1]]
        lines = [regions.coordinates[first : first + edges + 1] for first, edges in chains.tolist()]
        form = FORMS[regions.forms[i]]
        on_earth = form.endswith(" on Earth")
        if form.startswith("circle"):
            (x, y), (radius, _) = lines[0][:2].tolist()
            return Circle(x, y, radius, on_earth)
        if form.startswith("corridor"):
            return Corridor.of(lines, float(regions.reach[i]), on_earth)
        ends = np.cumsum(self.parts[i].as_py()).tolist()
        return Polygon.of([lines[a:b] for a, b in zip([0, *ends], ends, strict=False)])

    def by_condition(self) -> Iterator[tuple[Condition, Integers]]:
        """The conditions, and the places of the queries that have each, for the planner."""
        order = np.argsort(self.condition, kind="stable")
        numbers, starts = np.unique(self.condition[order], return_index=True)
        for number, which in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
            yield self.conditions[number], which

    def kept(self, mask: Mask) -> RegionBlock:
        chosen = pa.array(mask)
        return replace(
            self,
            ids=self.ids.filter(chosen),
            condition=self.condition[mask],
            regions=self.regions.taken(np.flatnonzero(mask)),
            parts=self.parts.filter(chosen),
            properties=self.properties.filter(chosen),
        )


@dataclass(frozen=True)
class RegionsGiven:
    """What a caller of `register_regions` gave, unchecked."""

    ids: Any
    geometries: Any
    where: Any = None
    emit: Any = "changes"
    properties: Any = None
    radius: Any = None
    within: Any = None


def region_block(stream: Stream, given: RegionsGiven, version: int) -> RegionBlock:
    """The block that was given, checked: each mistake names the query that has it."""
    # Shapely and the kernels of regions take a while: only for those who use regions.
    from watchline.index import RegionsRead, read_regions

    ids = query_ids(given.ids, "register_regions")
    if stream.point is None:
        raise InvalidQuery(
            f"regions need a place: stream {stream.name!r} was declared without POINT"
        )
    read = given.geometries
    # A caller who looked for problems has read them already.
    if not isinstance(read, RegionsRead):
        read = read_regions(read, given.radius, given.within, geography=stream.geography)
    if len(read) != len(ids):
        raise InvalidQuery(f"there are {len(read):,} geometries and {len(ids):,} ids")
    for number, problem in read.problems.items():
        raise InvalidRange(f"query {ids[number].as_py()!r} (geometry {number}): {problem}")
    conditions, condition = _conditions(stream, given.where, ids)
    emit = emit_of(given.emit)
    if emit is Emit.MATCHES and any(
        attribute.derived for made in conditions for part in made for attribute in part.attributes()
    ):
        raise InvalidQuery(MATCHES_HAVE_NO_SPEED)
    return RegionBlock(
        version=version,
        stream=stream.name,
        emit=emit,
        ids=ids,
        conditions=conditions,
        condition=condition,
        regions=read.columns,
        parts=_parts(read.rings, read.parts),
        properties=_properties(given.properties, ids),
    )


def _parts(rings: Integers, parts: Integers) -> pa.Array:
    """For each region the rings of each of its parts."""
    return pa.ListArray.from_arrays(pa.array(parts, pa.int32()), pa.array(rings, pa.int64()))


def _conditions(
    stream: Stream, where: Any, ids: pa.Array
) -> tuple[tuple[Condition, ...], Integers]:
    """The conditions, each once, and which of them each query has."""
    if where is None or isinstance(where, str):
        texts, which = [where], np.zeros(len(ids), np.int64)
    else:
        texts, which = _distinct(where, ids)
    made: dict[Condition, int] = {}
    numbers = []
    for place, text in enumerate(texts):
        try:
            condition = (TRUE,) if text is None else sql.condition(text, stream)
        except WatchlineError as error:
            if len(texts) == 1:
                raise
            number = int(np.argmax(which == place))
            raise InvalidQuery(
                f"query {ids[number].as_py()!r} (number {number}), condition {text!r}: {error}"
            ) from error
        numbers.append(made.setdefault(condition, len(made)))
    return tuple(made), np.array(numbers, np.int64)[which]


def _distinct(where: Any, ids: pa.Array) -> tuple[list[str | None], Integers]:
    try:
        column = where if isinstance(where, pa.Array) else pa.array(where, pa.string())
    except (pa.ArrowException, TypeError, UnicodeError) as error:
        raise InvalidQuery(f"where must be a condition, or one for each id: {error}") from None
    if len(column) != len(ids):
        raise InvalidQuery(f"where has {len(column):,} conditions; there are {len(ids):,} ids")
    coded = column.dictionary_encode("encode")
    texts: list[str | None] = coded.dictionary.to_pylist()
    return texts, np.asarray(coded.indices.to_numpy(), np.int64)


def _properties(given: Any, ids: pa.Array) -> pa.Array:
    """Canonical JSON for each query, or null."""
    if given is None:
        return pa.nulls(len(ids), pa.string())
    if isinstance(given, (str, Mapping)):
        return pa.repeat(pa.scalar(canonical_properties(given), pa.string()), len(ids))
    values = given.to_pylist() if hasattr(given, "to_pylist") else given
    if not isinstance(values, Sequence) or len(values) != len(ids):
        raise InvalidQuery(
            f"properties must be a JSON object, or one for each of the {len(ids):,} ids"
        )
    texts: list[str | None] = []
    try:
        texts.extend(map(canonical_properties, values))
    except InvalidQuery as error:
        number = len(texts)
        name = ids[number].as_py()
        raise InvalidQuery(f"query {name!r} (number {number}): {error}") from None
    return pa.array(texts, pa.string())


def form_numbers(names: pa.Array) -> Integers:
    """The numbers of forms by their names."""
    import pyarrow.compute as pc

    found = pc.index_in(names, pa.array(FORMS))
    if found.null_count:
        raise InvalidQuery(
            f"the catalog has regions of a form that this Watchline does not know (it knows"
            f" {listing(FORMS)}): upgrade Watchline"
        )
    return np.asarray(found.to_numpy(), np.int64)
