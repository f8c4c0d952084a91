"""Commands, versions, views and refusals of the catalog, in memory and on Delta alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import watchline as wl
from tests.conftest import TICKS
from watchline.catalog import Catalog, Commit
from watchline.catalog.log import MERGE_FILES


def create(query_id: str, condition: str = "price < 3") -> str:
    return f"CREATE QUERY {query_id} AS SELECT * FROM ticks WHERE {condition}"


def ids(catalog: Catalog, version: int | None = None) -> list[str]:
    return sorted(q.id for q in catalog.queries(version))


def test_an_empty_catalog(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "new")
    assert catalog.version == 0
    assert len(catalog.queries()) == 0
    assert catalog.streams() == []
    assert catalog.changes(0) == []


def test_every_command_is_one_version(catalog: Catalog) -> None:
    assert catalog.version == 1
    assert catalog.execute(create("a")) == 2
    assert catalog.execute(create("b")) == 3
    assert catalog.drop("a") == 4
    assert [ids(catalog, v) for v in range(5)] == [[], [], ["a"], ["a", "b"], ["b"]]
    assert [len(catalog.streams(v)) for v in range(5)] == [0, 1, 1, 1, 1]


def test_a_script_is_one_version_or_nothing(catalog: Catalog) -> None:
    assert catalog.execute(f"{create('a')}; {create('b')}; DROP QUERY a") == 2
    assert ids(catalog) == ["b"]
    with pytest.raises(wl.DuplicateQuery, match="'b' is registered already"):
        catalog.execute(f"{create('c')}; {create('b')}")
    with pytest.raises(wl.DuplicateQuery):
        catalog.execute(f"{create('d')}; {create('d')}")
    assert (catalog.version, ids(catalog)) == (2, ["b"])


def test_a_script_may_use_the_stream_it_declares() -> None:
    catalog = Catalog.of(f"{TICKS}; {create('a')}")
    assert (catalog.version, ids(catalog)) == (1, ["a"])


def test_replace(catalog: Catalog) -> None:
    replace = "CREATE OR REPLACE" + create("a", "price < 9").removeprefix("CREATE")
    catalog.execute(replace)
    assert repr(catalog.queries()["a"]).count("price < 9") == 1
    catalog.execute(replace.replace("9", "5"))
    assert repr(catalog.queries()["a"]).count("price < 5") == 1
    assert repr(catalog.queries(2)["a"]).count("price < 9") == 1
    [first, second] = catalog.changes(1)
    assert (set(first.dropped), list(first.added.ids())) == (set(), ["a"])
    assert (set(second.dropped), list(second.added.ids())) == ({"a"}, ["a"])


def test_an_id_may_be_used_again(catalog: Catalog) -> None:
    catalog.execute(create("a"))
    catalog.drop("a")
    catalog.execute(create("a", "price > 7"))
    assert "price > 7" in repr(catalog.queries()["a"])
    catalog.drop("a")
    catalog.register_boxes("ticks", ["a"], {"price": (1, 2)})
    catalog.drop("a")
    catalog.register_boxes("ticks", ["a", "b"], {"price": (3, 4)})
    catalog.execute(f"DROP QUERY a; {create('a', 'price = 9')}")
    assert "price = 9" in repr(catalog.queries()["a"])
    assert ids(catalog) == ["a", "b"]


def test_unknown_and_duplicate_names(catalog: Catalog) -> None:
    catalog.execute(create("cheap"))
    with pytest.raises(wl.UnknownQuery, match="there is no query 'cheep'; did you mean 'cheap'"):
        catalog.drop("cheep")
    with pytest.raises(wl.UnknownQuery, match="'cheep'"):
        catalog.explain("cheep")
    with pytest.raises(wl.UnknownQuery, match="at version"):
        catalog.queries()["cheep"]
    with pytest.raises(wl.DuplicateStream, match="'ticks' exists already"):
        catalog.execute(TICKS)
    with pytest.raises(wl.UnknownStream, match="did you mean 'ticks'"):
        catalog.stream("tick")
    with pytest.raises(wl.UnknownStream):
        catalog.execute("DROP STREAM tocks")
    assert catalog.execute("DROP QUERY IF EXISTS nothing; DROP STREAM IF EXISTS none") == 2
    assert catalog.execute(TICKS.replace("STREAM", "STREAM IF NOT EXISTS")) == 2


def test_many_queries_are_dropped_in_one_commit() -> None:
    catalog = Catalog.of([TICKS, *(create(name) for name in "abc")])
    catalog.register_boxes("ticks", ["x", "y", "z"], {"price": (0.0, 1.0)})
    catalog.register_boxes("ticks", ["v", "w"], {"price": (0.0, 1.0)})
    version = catalog.version
    with pytest.raises(wl.UnknownQuery, match=r"^there are no queries 'o', 'p'$"):
        catalog.drop_many(["a", "o", "x", "p"])
    with pytest.raises(wl.UnknownQuery, match="there is no query 'o'"):
        catalog.drop_many(["a", "o"])
    for bad in ("a", 7, ["a", None]):
        with pytest.raises(wl.InvalidQuery):
            catalog.drop_many(bad)  # type: ignore[arg-type]
    assert catalog.drop_many([]) == catalog.drop_many(["o"], if_exists=True) == version
    assert catalog.drop_many(["a", "x", "v", "w", "x"]) == version + 1
    assert list(catalog.queries().ids()) == ["b", "c", "y", "z"]
    assert catalog.changes(version)[0].dropped == {"a", "v", "w", "x"}
    assert catalog.drop_many(["a", "y"], if_exists=True) == version + 2
    catalog.register_boxes("ticks", ["a", "x"], {"price": (0.0, 1.0)})
    assert list(catalog.queries().ids()) == ["b", "c", "z", "a", "x"]
    assert len(catalog.queries(version)) == 8


def test_streams_are_dropped_when_nothing_reads_them(catalog: Catalog) -> None:
    catalog.execute(create("a"))
    catalog.register_boxes("ticks", ["box"], {"price": (1, 2)})
    with pytest.raises(wl.InvalidQuery, match="is read by query 'a': drop its queries first"):
        catalog.execute("DROP STREAM ticks")
    with pytest.raises(wl.InvalidQuery, match="is read by query 'box'"):
        catalog.execute("DROP QUERY a; DROP STREAM ticks")
    with pytest.raises(wl.InvalidQuery, match="is read by query 'new'"):
        catalog.execute(f"DROP QUERY a; DROP QUERY box; {create('new')}; DROP STREAM ticks")
    other = "CREATE STREAM ticks (id BIGINT, t TIMESTAMP) OBJECT id TIME t"
    catalog.execute(f"DROP QUERY a; DROP QUERY box; DROP STREAM ticks; {other}")
    assert [a.name for a in catalog.stream("ticks").attributes] == ["id", "t"]
    assert len(catalog.stream("ticks", version=3).attributes) == 6


def test_show_and_explain(catalog: Catalog) -> None:
    catalog.execute(create("a", "price < 3 OR volume > 1e6"))
    assert [q.id for q in catalog.execute("SHOW QUERIES")] == ["a"]
    assert [s.name for s in catalog.execute("SHOW STREAMS")] == ["ticks"]
    assert [q.id for q in catalog.execute(f"{create('b')}; SHOW QUERIES")] == ["a", "b"]
    with pytest.raises(wl.QuerySyntaxError, match="only as the last statement"):
        catalog.execute(f"SHOW QUERIES; {create('c')}")
    text = catalog.execute("EXPLAIN QUERY a")
    assert text == catalog.explain("a")
    for part in (
        "query a",
        "version 2",
        "price < 3",
        "volume > 1000000",
        "matches",
        "price DOUBLE",
    ):
        assert part in text


def test_explain_names_what_moves_and_how_long() -> None:
    cars = (
        "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP)"
        " OBJECT id TIME ts POINT (x, y)"
    )
    catalog = Catalog.of(
        [
            cars,
            "CREATE QUERY a AS SELECT * FROM cars kNN ('M', 5, 17)"
            " ACCURACY 0.9 FOR INTERVAL 1 HOUR",
        ]
    )
    text = catalog.explain("a")
    for part in ("kNN ('M', 5, 17)", "object 17", "at least 0.9", "1 HOUR", "x DOUBLE, y DOUBLE"):
        assert part in text


def test_versions_that_do_not_exist(catalog: Catalog) -> None:
    for version in (-1, 2):
        with pytest.raises(wl.UnknownVersion, match="the newest is 1"):
            catalog.queries(version)
        with pytest.raises(wl.UnknownVersion):
            catalog.changes(0, version)


def test_a_view_does_not_move_with_the_catalog(catalog: Catalog) -> None:
    catalog.execute(create("a"))
    before = catalog.queries()
    catalog.drop("a")
    assert [q.id for q in before] == ["a"]
    assert "a" in before
    assert "a" not in catalog.queries()


def test_changes_say_what_each_version_did(catalog: Catalog) -> None:
    catalog.execute(create("a"))
    catalog.register_boxes("ticks", ["x", "y"], {"price": ([1, 2], [3, 4])})
    catalog.execute(f"DROP QUERY x; {create('b')}; DROP QUERY b; DROP QUERY a; {create('a')}")
    changes = catalog.changes(0)
    assert [c.version for c in changes] == [1, 2, 3, 4]
    assert [c.streams[0].name for c in changes if c.streams] == ["ticks"]
    assert [(sorted(c.dropped), sorted(c.added.ids())) for c in changes] == [
        ([], []),
        ([], ["a"]),
        ([], ["x", "y"]),
        (["a", "x"], ["a"]),
    ]
    assert catalog.changes(4) == []
    assert isinstance(catalog.changes(3)[0], Commit)


def test_queries_of_a_stream() -> None:
    other = "CREATE STREAM other (id BIGINT, price DOUBLE, t TIMESTAMP) OBJECT id TIME t"
    catalog = Catalog.of([TICKS, other, create("a")])
    catalog.execute("CREATE QUERY b AS SELECT * FROM other WHERE price < 3")
    catalog.execute(
        "CREATE QUERY c AS SELECT * FROM ticks [ROWS 1], other [ROWS 1]"
        " WHERE ticks.price < other.price"
    )
    catalog.register_boxes("other", ["d"], {"price": (1, 2)})
    assert sorted(catalog.queries().on("ticks").ids()) == ["a", "c"]
    assert sorted(catalog.queries().on("other").ids()) == ["b", "c", "d"]


def test_what_is_committed_is_there_for_all(tmp_path: Path) -> None:
    one, two = Catalog(tmp_path / "c"), Catalog(tmp_path / "c")
    one.execute(TICKS)
    two.execute(create("a"))
    one.execute(create("b"))
    assert (one.version, two.version) == (3, 3)
    assert ids(one) == ids(two) == ids(Catalog(tmp_path / "c")) == ["a", "b"]
    with pytest.raises(wl.DuplicateQuery):
        two.execute(create("b"))


def test_compaction_changes_no_answer(catalog: Catalog) -> None:
    for i in range(10):
        catalog.execute(create(f"q{i}"))
    catalog.register_boxes("ticks", ["x", "y"], {"price": ([1, 2], [3, 4]), "symbol": ["A", "B"]})
    catalog.drop("x")
    catalog.drop("q3")
    before = [ids(catalog, v) for v in range(catalog.version + 1)]
    catalog.compact()
    assert [ids(catalog, v) for v in range(catalog.version + 1)] == before
    assert catalog.changes(12)[0].dropped == {"x"}


def test_old_versions_can_be_forgotten(catalog: Catalog, tmp_path: Path) -> None:
    for i in range(5):
        catalog.execute(create(f"q{i}"))
    catalog.register_boxes("ticks", ["x", "y"], {"price": ([1, 2], [3, 4]), "symbol": ["A", "B"]})
    catalog.execute("DROP QUERY x; DROP QUERY q0")
    catalog.execute(create("late"))
    catalog.drop("y")
    kept = {v: [repr(q) for q in catalog.queries(v)] for v in range(8, catalog.version + 1)}
    catalog.compact(oldest=8)
    for version, queries in kept.items():
        assert [repr(q) for q in catalog.queries(version)] == queries
    with pytest.raises(
        wl.UnknownVersion, match="version 7 was forgotten: the oldest one kept is 8"
    ):
        catalog.queries(7)
    with pytest.raises(wl.UnknownVersion):
        catalog.changes(7)
    assert [c.version for c in catalog.changes(8)] == [9, 10]
    assert catalog.execute(create("after")) == 11
    if (tmp_path / "catalog").exists():
        again = Catalog(tmp_path / "catalog")
        assert ids(again) == ids(catalog)
        with pytest.raises(wl.UnknownVersion):
            again.queries(7)


def test_others_notice_when_history_is_forgotten(tmp_path: Path) -> None:
    one = Catalog(tmp_path / "c")
    one.execute(TICKS)
    for i in range(3):
        one.execute(create(f"q{i}"))
    behind = Catalog(tmp_path / "c")
    one.execute("DROP QUERY q0; DROP QUERY q1")
    abreast = Catalog(tmp_path / "c")
    one.execute(create("q9"))
    one.compact(oldest=6)
    assert ids(behind) == ids(abreast) == ids(one) == ["q2", "q9"]
    for catalog in (one, behind, abreast):
        with pytest.raises(wl.UnknownVersion, match="forgotten"):
            catalog.queries(4)
        with pytest.raises(wl.UnknownVersion, match="forgotten"):
            catalog.compact(oldest=3)
    with pytest.raises(wl.UnknownQuery):
        behind.drop("q0")


def test_forgetting_when_a_query_has_the_name_of_a_dropped_stream(catalog: Catalog) -> None:
    catalog.execute("CREATE STREAM cars (id BIGINT, t TIMESTAMP) OBJECT id TIME t")
    catalog.execute(
        f"DROP STREAM cars; {create('cars')}; DROP QUERY cars; {create('cars', 'n = 2')}"
    )
    catalog.execute(create("later"))
    catalog.compact(oldest=3)
    assert [repr(q.where[0]) for q in catalog.queries(3)] == ["n = 2"]
    assert [s.name for s in catalog.streams()] == ["ticks"]
    assert ids(catalog) == ["cars", "later"]


def test_a_refused_explain_registers_nothing(catalog: Catalog) -> None:
    with pytest.raises(wl.UnknownQuery):
        catalog.execute(f"{create('a')}; EXPLAIN QUERY nope")
    assert catalog.version == 1
    assert "query a" in catalog.execute(f"{create('a')}; EXPLAIN QUERY a")


@pytest.mark.parametrize("wrong", [5, None, b"x", ["a"], "a\ud800"])
def test_arguments_of_the_wrong_kind(catalog: Catalog, wrong: Any) -> None:
    catalog.register_boxes("ticks", ["box"], {"price": (1, 2)})
    for call in (catalog.execute, catalog.drop, catalog.explain, catalog.stream):
        with pytest.raises(wl.WatchlineError):
            call(wrong)
    for version in ("1", 1.5):
        with pytest.raises(wl.UnknownVersion, match="whole number"):
            catalog.queries(version)  # type: ignore[arg-type]
    assert catalog.version == 2


def test_many_commits_keep_few_files(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "c")
    catalog.execute(TICKS)
    for i in range(MERGE_FILES + 10):
        catalog.execute(create(f"q{i}"))
    assert len(catalog._log._table.file_uris()) < MERGE_FILES  # type: ignore[attr-defined]
    assert len(Catalog(tmp_path / "c").queries()) == MERGE_FILES + 10
    assert len(catalog.queries(30)) == 29
