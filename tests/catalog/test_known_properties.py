"""Properties by id: those that a query had last, at any version, however it was followed."""

from __future__ import annotations

import pyarrow as pa
import shapely

from tests.catalog.test_register_regions import CARS
from watchline.catalog import Catalog, KnownProperties

QUERY = "CREATE OR REPLACE QUERY {} AS SELECT * FROM cars WHERE speed > 1 PROPERTIES '{}'"
IDS = pa.array(["a", "b", "c", "d", "e", "a"])


def listed(known: KnownProperties) -> list[str | None]:
    found: list[str | None] = known.of(IDS).to_pylist()
    assert found[0] == found[-1]
    return found[:-1]


def test_properties_follow_the_catalog(catalog: Catalog) -> None:
    catalog.execute(CARS)
    catalog.execute(QUERY.format("a", '{"n": 1}'))
    square = shapely.box(0, 0, 1, 1)
    catalog.register_regions("cars", ["b", "c"], [square] * 2, properties=[{"n": 2}, None])
    catalog.execute(QUERY.format("a", '{"n": 3}'))
    catalog.drop_many(["a", "b"])
    catalog.execute(QUERY.format("c", '{"n": 4}'))
    catalog.execute("CREATE OR REPLACE QUERY c AS SELECT * FROM cars WHERE speed > 2")
    catalog.register_boxes("cars", ["d"], {"speed": (1, 2)})
    expected: dict[int, list[str | None]] = {
        2: [None] * 5,
        3: ['{"n":1}', None, None, None, None],
        4: ['{"n":1}', '{"n":2}', None, None, None],
        5: ['{"n":3}', '{"n":2}', None, None, None],
        6: ['{"n":3}', '{"n":2}', None, None, None],
        7: ['{"n":3}', '{"n":2}', '{"n":4}', None, None],
        8: ['{"n":3}', '{"n":2}', None, None, None],
        9: ['{"n":3}', '{"n":2}', None, None, None],
    }
    follower = KnownProperties(catalog)
    for version, texts in expected.items():
        follower.advance(version)
        assert listed(follower) == texts, version
    for version in (9, 3, 7, 6, 6, 2):
        follower.advance(version)
        assert listed(follower) == expected[version], version
    catalog.compact(7)
    late = KnownProperties(catalog)
    late.advance(8)
    # What was dropped before the history that is left is not known any more.
    assert listed(late) == [None] * 5
    late.advance(7)
    assert listed(late) == [None, None, '{"n":4}', None, None]
    follower.advance(9)
    assert follower.of(pa.array([], pa.string())).to_pylist() == []
