"""Planning: keys and axes, what is left to check, and how few candidates a row meets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.conftest import TICKS
from watchline.catalog import Catalog
from watchline.matching import PairMatcher, Plan, RegionPart, limits, plan, prepare
from watchline.matching.draft import PlanDraft
from watchline.matching.limits import MANY, MANY_BELOW_KEY
from watchline.matching.search import SearchRows
from watchline.matching.shapes import shape_columns
from watchline.model import TRUE, Circle, Compare, Conjunction, InRange, OneOf, Range
from watchline.rows.columns import Columns

CARS = (
    "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, kind STRING, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (x, y)"
)


def planned(stream: str, *queries: str):  # type: ignore[no-untyped-def]
    texts = [f"CREATE QUERY q{i} AS SELECT * FROM {q}" for i, q in enumerate(queries)]
    catalog = Catalog.of([TICKS, CARS, *texts])
    return plan(catalog.queries(), catalog.stream(stream))


def shape(made) -> list[tuple[str | None, list[str], int]]:  # type: ignore[no-untyped-def]
    return [
        (p.key.name if p.key else None, [a.name for a in p.axes], p.lo.shape[1]) for p in made.parts
    ]


def test_queries_about_the_same_attributes_share_a_part() -> None:
    made = planned(
        "ticks",
        "ticks WHERE price < 3",
        "ticks WHERE price > 5 OR volume > 2",
        "ticks WHERE symbol = 'A' AND price < 3",
        "ticks WHERE symbol IN ('A', 'B') AND price > 4",
        "ticks WHERE symbol = 'A'",
        "ticks WHERE price < 3 EMIT CHANGES",
    )
    assert shape(made) == [(None, ["price", "volume"], 3), ("symbol", ["price"], 4)]
    assert len(made) == 5
    assert made.several.tolist() == [False, True, False, False, False]
    assert len(made.residues) == 0


def test_the_object_id_is_a_key_also_as_a_number() -> None:
    made = planned("cars", "cars WHERE id = 17 AND kind = 'taxi' EMIT MATCHES")
    assert shape(made) == [("id", ["kind"], 1)]
    known = {a.name: values.to_pylist() for a, values in made.dictionaries.items()}
    assert known == {"id": [17], "kind": ["taxi"]}
    assert len(made.residues) == 0


def test_what_is_left_for_refinement() -> None:
    made = planned(
        "cars",
        "cars WHERE x > y INSIDE CIRCLE (0, 0, 1) EMIT MATCHES",
        "cars WHERE x > y INSIDE CIRCLE (5, 5, 1) EMIT MATCHES",
        "cars WHERE id >= 9007199254740993 EMIT MATCHES",
        "cars WHERE x > y AND x < 1 EMIT MATCHES",
        "cars WHERE y > 3 AND x < y EMIT MATCHES",
    )
    assert shape(made) == [(None, ["id", "x", "y"], 3), (None, [], 2)]
    boxes, regions = made.parts
    looked = ~np.isnan(boxes.hi)
    assert looked.T.tolist() == [[True, False, False], [False, True, False], [False, False, True]]
    assert isinstance(regions, RegionPart)
    assert len(regions.regions) == 2
    # x > y and x < y are two residues; the same comparison of several queries is one.
    assert made.residue.tolist() == [0, 0, 1, 0, 2]
    kinds = [[type(atom) for atom in made.residues.atoms_of(r)] for r in range(3)]
    assert kinds == [[Compare], [InRange], [Compare]]
    assert len(made.residues) == 3


def test_a_region_below_a_key_is_left_to_check() -> None:
    made = planned(
        "cars",
        "cars WHERE kind IN ('taxi', 'bus') AND x < 1 INSIDE CIRCLE (0, 0, 2) EMIT MATCHES",
        "cars WHERE kind = 'bus' AND x > 5 INSIDE CIRCLE (0, 0, 2) EMIT MATCHES",
    )
    # The second excludes its own region.
    assert shape(made) == [("kind", ["x", "y"], 2)]
    [part] = made.parts
    assert part.hi[0].tolist() == [1.0, 1.0]
    assert (part.hi[1] > 2).all()
    assert (part.hi[1] < 2.000001).all()
    assert [len(made.residues.regions_of(r)) for r in range(len(made.residues))] == [1]
    assert made.residue.tolist() == [0, 0]


def test_where_a_value_has_many_regions_these_drive() -> None:
    """The first few stay below the key; a key of many values, such as ids, keeps all."""
    few = limits.MANY_REGIONS_BELOW_KEY
    circle = "INSIDE CIRCLE (0, 0, 2) EMIT MATCHES"
    made = planned("cars", *[f"cars WHERE kind = 'bus' {circle}"] * (few + 3))
    assert shape(made) == [("kind", ["x", "y"], few), (None, ["kind"], 3)]
    assert isinstance(made.parts[1], RegionPart)
    made = planned("cars", *[f"cars WHERE id = {i} {circle}" for i in range(few + 3)])
    assert shape(made) == [("id", ["x", "y"], few + 3)]


def test_ranges_and_single_values_stand_beside_a_region() -> None:
    made = planned(
        "cars",
        "cars WHERE x < 1 AND id > 4 INSIDE CIRCLE (0, 0, 2) EMIT MATCHES",
        "cars INSIDE POLYGON 'POLYGON ((0 0, 1 0, 1 1, 0 0))' EMIT MATCHES",
    )
    [part] = made.parts
    assert isinstance(part, RegionPart)
    assert [axis.name for axis in part.axes] == ["id", "x"]
    assert np.isnan(part.hi[:, 1]).all()
    assert not np.isnan(part.hi[:, 0]).any()
    assert made.residue.tolist() == [-1, -1]


def test_a_block_of_regions_is_as_many_queries() -> None:
    catalog = Catalog.of([TICKS, CARS])
    stream = catalog.stream("cars")
    columns = shape_columns([Circle(0, 0, 1), Circle(5, 5, 1), Circle(9, 9, 2)])
    kind, x, y = (stream.attribute(name) for name in ("kind", "x", "y"))
    for where, parts in (
        ((TRUE,), [True]),
        ((Conjunction((OneOf(kind, ("taxi",)),)),), [False]),
        (
            (Conjunction((InRange(x, Range(0, 100)),)), Conjunction((OneOf(kind, ("a", "b")),))),
            [0, 0],
        ),
        ((Conjunction((Compare(x, y, 1),)),), [False]),
    ):
        draft = PlanDraft(stream, apart=True)
        ids = pa.array(["a", "b", "c"])
        draft.add_region_block(ids, 7, columns, where)
        made = draft.finish(7, pa.array([], pa.string()))
        assert [part.whole for part in made.parts] == parts
        assert made.ids.to_pylist() == ["a", "b", "c"]
        assert made.since.tolist() == [7, 7, 7]
        assert (np.diff(made.query) >= 0).all()
        of = np.concatenate([made.query[part.numbers] for part in made.parts])
        assert np.bincount(of).tolist() == [3 if len(where) > 1 else 1] * 3
        assert made.several.tolist() == [len(where) > 1] * 3
        assert made.uses[0] >= {"x", "y"}


def test_a_row_meets_the_alerts_of_its_own_symbol() -> None:
    """A thousand symbols with ten alerts each: ten candidates a row, not ten thousand."""
    catalog = Catalog.of(TICKS)
    n = 10_000
    ids = [f"a{i}" for i in range(n)]
    symbols = [f"S{i % 1000}" for i in range(n)]
    catalog.register_boxes("ticks", ids, {"price": (0, 1), "symbol": symbols}, emit="matches")
    stream = catalog.stream("ticks")
    made = plan(catalog.queries(), stream)
    [part] = made.parts
    rows = pa.table({"symbol": ["S1", "S999", "nobody", None], "price": [0.5] * 4})
    runs = SearchRows(Columns(rows, stream), made.known).runs(part)
    sizes = [*(part.starts[1:] - part.starts[:-1]), 0]
    assert [sizes[run] for run in runs] == [10, 10, 0, 0]
    assert len(PairMatcher(catalog, "ticks").match(rows)) == 20


def test_a_disjunction_reports_a_row_once() -> None:
    catalog = Catalog.of(
        [TICKS, "CREATE QUERY a AS SELECT * FROM ticks WHERE price < 5 OR price < 9 OR volume > 0"]
    )
    found = PairMatcher(catalog, "ticks").match(
        pa.table({"price": [1.0, 7.0], "volume": [1.0, 1.0]})
    )
    assert sorted(found.rows.tolist()) == [0, 1]


def test_many_small_versions_become_few_plans() -> None:
    catalog = Catalog.of([TICKS])
    matcher = PairMatcher(catalog, "ticks")
    rows = pa.table({"price": [1.0, 50.0]})
    for i in range(100):
        catalog.execute(f"CREATE QUERY q{i} AS SELECT * FROM ticks WHERE price < {i}")
        matcher.advance(catalog.version)
        assert len(matcher.match(rows)) == max(0, i - 1) + max(0, i - 50)
        assert matcher._plan.layers <= 4
    matcher.advance(3)
    assert len(matcher) == 2


def test_layers_are_joined_at_a_cost_of_their_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted work: a query is joined as often as the layers above it have grown by a factor."""
    taken: list[int] = []
    take = PlanDraft.take_queries

    def counting(self: PlanDraft, made: Plan, numbers: Any) -> int:
        taken.append(len(numbers))
        return take(self, made, numbers)

    monkeypatch.setattr(PlanDraft, "take_queries", counting)
    catalog = Catalog.of([TICKS])
    matcher = PairMatcher(catalog, "ticks")
    for i in range(900):
        catalog.execute(f"CREATE QUERY q{i} AS SELECT * FROM ticks WHERE price < {i + 1}")
        matcher.advance(catalog.version)
    assert matcher._plan.layers <= 6
    # The base is never planned again: 900 are fewer than it bears.
    assert sum(taken) < 20 * 900
    assert len(matcher.match(pa.table({"price": [0.5]}))) == 900


def test_a_stream_that_was_dropped_and_declared_anew() -> None:
    catalog = Catalog.of([TICKS, "CREATE QUERY a AS SELECT * FROM ticks WHERE price < 3"])
    matcher = PairMatcher(catalog, "ticks")
    other = "CREATE STREAM ticks (id BIGINT, price BIGINT, t TIMESTAMP) OBJECT id TIME t"
    catalog.execute(f"DROP QUERY a; DROP STREAM ticks; {other}")
    catalog.execute("CREATE QUERY b AS SELECT * FROM ticks WHERE price > 3")
    matcher.advance(catalog.version)
    assert matcher.match(pa.table({"price": [2, 4]})).ids.to_pylist() == ["b"]


def test_long_runs_below_a_key_have_indexes_and_short_ones_are_scanned() -> None:
    """Boxes of one kind by the thousand, of others by the dozen; rows of all, and of none."""
    rng = np.random.default_rng(3)
    catalog = Catalog.of([CARS])
    held: list[tuple[str, float, float, float, float]] = []
    for kind, n in (("truck", MANY_BELOW_KEY + 500), ("taxi", MANY_BELOW_KEY + 1), ("bus", 30)):
        x, y = rng.uniform(0, 100, n), rng.uniform(0, 100, n)
        held += [(kind, a, a + 9, b, b + 7) for a, b in zip(x, y, strict=True)]
    kinds, x1, x2, y1, y2 = (list(side) for side in zip(*held, strict=True))
    bounds = {"kind": kinds, "x": (x1, x2), "y": (y1, y2)}
    catalog.register_boxes("cars", [str(i) for i in range(len(held))], bounds, emit="matches")
    made = prepare(catalog.queries(), catalog.stream("cars"))
    assert [index.kind for index in made.searches[0].indexes.values()] == ["ces", "ces"]
    rows = pa.table(
        {
            "id": range(300),
            "x": rng.uniform(0, 110, 300),
            "y": rng.uniform(0, 110, 300),
            "kind": rng.choice(["truck", "taxi", "bus", "tram", None], 300).tolist(),
        }
    )
    found = PairMatcher(catalog, "cars").match(rows)
    pairs = set(zip(found.rows.tolist(), found.ids.to_pylist(), strict=True))
    assert len(pairs) == len(found)
    expected = {
        (row, str(i))
        for row, (x, y, k) in enumerate(
            zip(*(rows[c].to_pylist() for c in ("x", "y", "kind")), strict=True)
        )
        for i, (kind, a, b, c, d) in enumerate(held)
        if kind == k and a <= x < b and c <= y < d
    }
    assert pairs == expected


def test_one_axis_without_a_key_goes_through_an_index() -> None:
    catalog = Catalog.of([TICKS])
    n = MANY + 1
    catalog.register_boxes(
        "ticks", [str(i) for i in range(n)], {"price": (range(n), [1e9] * n)}, emit="matches"
    )
    made = prepare(catalog.queries(), catalog.stream("ticks"))
    assert [index.kind for index in made.searches[0].indexes.values()] == ["cei"]
    found = PairMatcher(catalog, "ticks").match(pa.table({"price": [3.5, None, -1.0, 1e9, 1e8]}))
    counts = np.bincount(found.rows, minlength=5)
    assert counts.tolist() == [4, 0, 0, 0, n]
