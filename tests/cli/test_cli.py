"""The command line as a person uses it: tables, JSON, and one message with exit code 2."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.conftest import TICKS
from watchline.catalog import Catalog
from watchline.cli import cli

CHEAP = "CREATE QUERY cheap AS SELECT * FROM ticks WHERE price < 40"


class Shell:
    def __init__(self, folder: Path):
        self.folder = folder
        self.catalog = str(folder / "catalog")

    def run(self, *words: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(cli, ["--catalog", self.catalog, *words], input=stdin)

    def ok(self, *words: str, stdin: str | None = None) -> str:
        result = self.run(*words, stdin=stdin)
        assert result.exit_code == 0, result.output
        return result.output

    def refused(self, *words: str) -> str:
        result = self.run(*words)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert "Traceback" not in result.stderr
        return result.stderr


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    made = Shell(tmp_path)
    assert made.ok("stream", "add", TICKS) == "registered ticks (version 1)\n"
    return made


def test_add_list_explain_drop(shell: Shell) -> None:
    assert shell.ok("query", "add", CHEAP) == "registered cheap (version 2)\n"
    assert shell.ok("query", "add", "dear", "SELECT * FROM ticks WHERE price > 90") == (
        "registered dear (version 3)\n"
    )
    assert shell.ok("query", "list").splitlines() == [
        "id\tstream\temits\tquery",
        "cheap\tticks\tMATCHES\tticks WHERE price < 40",
        "dear\tticks\tMATCHES\tticks WHERE price > 90",
    ]
    assert "condition   price < 40" in shell.ok("query", "explain", "cheap")
    assert shell.ok("query", "drop", "cheap", "dear") == "dropped cheap, dear (version 4)\n"
    assert shell.ok("query", "list").splitlines() == ["id\tstream\temits\tquery"]


def test_json(shell: Shell) -> None:
    assert json.loads(shell.ok("query", "list", "--json")) == []
    shell.ok("query", "add", CHEAP)
    added = json.loads(shell.ok("query", "add", "--json", "d", "SELECT * FROM ticks EMIT CHANGES"))
    assert added == {"version": 3, "queries": ["d"]}
    listed = json.loads(shell.ok("query", "list", "--json"))
    assert [(q["id"], q["emit"], q["streams"]) for q in listed] == [
        ("cheap", "matches", ["ticks"]),
        ("d", "changes", ["ticks"]),
    ]
    assert listed[0]["sql"] == f"{CHEAP} EMIT MATCHES"
    [stream] = json.loads(shell.ok("stream", "list", "--json"))
    assert stream["attributes"]["price"] == "DOUBLE"
    assert json.loads(shell.ok("query", "explain", "cheap", "--json"))["explanation"].startswith(
        "query"
    )
    assert json.loads(shell.ok("query", "drop", "d", "--json")) == {"version": 4, "dropped": ["d"]}


def test_files_and_standard_input(shell: Shell, tmp_path: Path) -> None:
    script = tmp_path / "queries.sql"
    script.write_text(
        f"-- alerts\n{CHEAP};\n{CHEAP.replace('cheap', 'other')};\n", encoding="utf-8-sig"
    )
    assert shell.ok("query", "add", "--file", str(script)) == "registered 2 queries (version 2)\n"
    assert shell.ok("query", "add", "-f", "-", stdin=CHEAP.replace("cheap", "third")).startswith(
        "reg"
    )
    assert len(Catalog(shell.catalog).queries()) == 3


def test_replace(shell: Shell) -> None:
    shell.ok("query", "add", CHEAP)
    assert "use CREATE OR REPLACE" in shell.refused("query", "add", "cheap", "SELECT * FROM ticks")
    shell.ok("query", "add", "--replace", "cheap", "SELECT * FROM ticks WHERE price < 45")
    assert "price < 45" in shell.ok("query", "list")
    assert "price < 40" in shell.ok("query", "list", "--version", "2")


def test_long_lists_are_cut(shell: Shell) -> None:
    catalog = Catalog(shell.catalog)
    catalog.register_boxes("ticks", [f"b{i}" for i in range(300)], {"price": (1, 2)})
    result = shell.run("query", "list")
    assert len(result.stdout.splitlines()) == 101
    assert "and 200 more: see --limit" in result.stderr
    assert len(shell.ok("query", "list", "--limit", "2", "--stream", "ticks").splitlines()) == 4
    assert len(json.loads(shell.ok("query", "list", "--json"))) == 300


def test_a_catalog_is_found_by_environment_and_after_the_command(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = CliRunner().invoke(cli, ["query", "list", "--catalog", shell.catalog])
    assert result.exit_code == 0
    monkeypatch.setenv("WATCHLINE_CATALOG", shell.catalog)
    assert CliRunner().invoke(cli, ["query", "list"]).exit_code == 0
    monkeypatch.delenv("WATCHLINE_CATALOG")
    result = CliRunner().invoke(cli, ["query", "list"])
    assert result.exit_code == 2
    assert "--catalog PATH or WATCHLINE_CATALOG" in result.stderr


def test_mistakes(shell: Shell, tmp_path: Path) -> None:
    shell.ok("query", "add", CHEAP)
    assert "did you mean 'price'" in shell.refused("query", "add", CHEAP.replace("price", "prise"))
    assert "^" in shell.refused("query", "add", "q", "SELECT * FROM ticks WHERE price <")
    assert "did you mean 'cheap'" in shell.refused("query", "drop", "cheep")
    assert "there is no query" in shell.refused("query", "explain", "nothing")
    assert "expected CREATE QUERY here" in shell.refused("query", "add", TICKS)
    assert "expected CREATE STREAM here" in shell.refused("stream", "add", CHEAP)
    assert "exists already" in shell.refused("stream", "add", TICKS)
    assert "no stream 'nope'" in shell.refused("query", "list", "--stream", "nope")
    assert "newest is 2" in shell.refused("query", "list", "--version", "9")
    assert "one statement in quotes" in shell.refused("query", "add")
    assert "goes with an ID" in shell.refused("query", "add", "--replace", CHEAP)
    assert "No such file" in shell.refused("query", "add", "--file", str(tmp_path / "none.sql"))
    (tmp_path / "latin.sql").write_bytes(b"\xff\xfe\xff")
    assert "not UTF-8" in shell.refused("query", "add", "--file", str(tmp_path / "latin.sql"))
    assert Catalog(shell.catalog).version == 2


def test_reading_creates_no_catalog(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for words in (
        ["query", "list"],
        ["stream", "list"],
        ["query", "add", CHEAP],
        ["query", "drop", "a"],
    ):
        assert "there is no catalog at" in shell.refused(*words)
    assert "expected" in shell.refused("stream", "add", "CREATE STREAM x")
    assert os.listdir(tmp_path) == []


def test_if_not_exists(shell: Shell) -> None:
    again = TICKS.replace("STREAM", "STREAM IF NOT EXISTS")
    assert shell.ok("stream", "add", again) == "nothing to do: all of it exists (version 1)\n"


@pytest.mark.parametrize(
    "words", [[], ["query"], ["query", "add"], ["query", "list"], ["stream", "add"]]
)
def test_help_shows_examples(words: list[str]) -> None:
    text = CliRunner().invoke(cli, [*words, "--help"]).output
    assert "Usage" in text
    assert len(words) < 2 or "watchline --catalog demo" in text


def test_as_a_program(shell: Shell) -> None:
    command = [sys.executable, "-m", "watchline", "--catalog", shell.catalog, "query", "drop", "zz"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: there is no query 'zz'\n"


def test_a_terminal_gets_a_table(shell: Shell) -> None:
    """Under a pseudo-terminal, columns are aligned."""
    shell.ok("query", "add", CHEAP)
    inner = f"{sys.executable} -m watchline --catalog {shell.catalog} query list"
    done = subprocess.run(
        ["script", "-qec", inner, "/dev/null"], capture_output=True, text=True, check=False
    )
    assert "cheap" in done.stdout
    assert "\t" not in done.stdout


# --- dropping


def test_queries_are_dropped_by_pattern_and_from_a_file(shell: Shell, tmp_path: Path) -> None:
    Catalog(shell.catalog).register_boxes(
        "ticks", [f"fence-{i}" for i in range(12)], {"price": (1, 2)}
    )
    shell.ok("query", "add", CHEAP)
    told = shell.ok("query", "drop", "--like", "fence-?")
    assert told.startswith("dropped 10: fence-0, fence-1, ")
    assert told.endswith("(version 4)\n")
    assert {q.id for q in Catalog(shell.catalog).queries()} == {"fence-10", "fence-11", "cheap"}
    assert "no query is like 'fences*'" in shell.refused("query", "drop", "--like", "fences*")
    ids = tmp_path / "ids.txt"
    ids.write_text("fence-10\n\n fence-11\nnone\n")
    assert "there is no query 'none'" in shell.refused("query", "drop", "--file", str(ids))
    assert len(Catalog(shell.catalog).queries()) == 3
    assert shell.ok("query", "drop", "-f", "-", stdin="fence-10\nfence-11\n") == (
        "dropped fence-10, fence-11 (version 5)\n"
    )
    assert "has no ids" in shell.refused("query", "drop", "-f", os.devnull)
    assert "give ids, or --like" in shell.refused("query", "drop", "cheap", "--like", "*")


@pytest.mark.slow
def test_very_many_queries_are_dropped_at_once(shell: Shell, tmp_path: Path) -> None:
    """So many that their statements would be longer than a script may be."""
    many = [f"fence of the district {i:06}" for i in range(120_000)]
    Catalog(shell.catalog).register_boxes("ticks", many, {"price": (1, 2)})
    shell.ok("query", "add", CHEAP)
    ids = tmp_path / "ids.txt"
    ids.write_text("\n".join([*many[:60_000], many[0]]))
    assert shell.ok("query", "drop", "--file", str(ids)).startswith("dropped 60,000: fence of")
    assert shell.ok("query", "drop", "--like", "fence*").endswith("(version 5)\n")
    catalog = Catalog(shell.catalog)
    assert list(catalog.queries().ids()) == ["cheap"]
    assert len(catalog.queries(4)) == 60_001


def test_all_unknown_ids_are_named_and_nothing_is_dropped(shell: Shell, tmp_path: Path) -> None:
    shell.ok("query", "add", CHEAP)
    told = shell.refused("query", "drop", "one", "cheap", "two")
    assert told == "error: there are no queries 'one', 'two'\n"
    ids = tmp_path / "ids.txt"
    ids.write_text("\n".join(["cheap", *(f"x{i}" for i in range(2_000))]))
    told = shell.refused("query", "drop", "--file", str(ids))
    assert told == "error: there are no queries 'x0', 'x1', 'x2', 'x3', 'x4' and 1,995 more\n"
    assert [q.id for q in Catalog(shell.catalog).queries()] == ["cheap"]


def test_streams_are_dropped(shell: Shell) -> None:
    shell.ok("query", "add", CHEAP)
    assert "is read by query 'cheap'" in shell.refused("stream", "drop", "ticks")
    shell.ok("query", "drop", "cheap")
    assert shell.ok("stream", "drop", "ticks") == "dropped ticks (version 4)\n"
    assert json.loads(shell.ok("stream", "list", "--json")) == []
    assert "there is no stream 'ticks'" in shell.refused("stream", "drop", "ticks")


def test_a_script_of_all_kinds_is_one_version(shell: Shell, tmp_path: Path) -> None:
    shell.ok("query", "add", CHEAP)
    script = tmp_path / "setup.sql"
    other = TICKS.replace("ticks", "more")
    new = "CREATE QUERY new AS SELECT * FROM more WHERE price < 1"
    script.write_text(f"DROP QUERY cheap; DROP STREAM ticks; {other}; {new};")
    assert shell.ok("execute", "--file", str(script)) == "ran 4 statements (version 3)\n"
    catalog = Catalog(shell.catalog)
    assert ([s.name for s in catalog.streams()], [q.id for q in catalog.queries()]) == (
        ["more"],
        ["new"],
    )
    refused = shell.refused("execute", f"DROP QUERY new; {CHEAP}")
    assert "there is no stream 'ticks'" in refused
    assert Catalog(shell.catalog).version == 3
    assert "expected CREATE or DROP here" in shell.refused("execute", "SHOW QUERIES")
    fresh = str(tmp_path / "fresh")
    result = CliRunner().invoke(cli, ["--catalog", fresh, "execute", f"{TICKS}; {new}"])
    assert result.exit_code == 2
    assert not os.path.exists(fresh)
    result = CliRunner().invoke(cli, ["--catalog", fresh, "execute", f"{TICKS}; {CHEAP}"])
    assert (result.exit_code, Catalog(fresh).version) == (0, 1)


def test_a_script_for_a_damaged_catalog_is_told_of_the_damage(shell: Shell) -> None:
    """Not that the streams are missing which cannot be read."""
    log = Path(shell.catalog) / "_delta_log"
    os.truncate(max(log.glob("*.json")), 0)
    script = f"{TICKS.replace('ticks', 'more')}; {CHEAP}"
    assert "is damaged" in shell.refused("execute", script)
    kept = Path(shell.catalog).with_name("kept")
    Path(shell.catalog).rename(kept)
    Path(shell.catalog).write_text("")
    assert "is a file: a catalog is a folder" in shell.refused("execute", script)


# --- errors as JSON


def test_errors_as_json(shell: Shell) -> None:
    told = json.loads(shell.refused("query", "add", "--json", "CREATE QUERY q AS\nSELEC * FROM t"))
    assert told["error"]["kind"] == "QuerySyntaxError"
    assert (told["error"]["line"], told["error"]["column"]) == (2, 1)
    assert "\n" not in told["error"]["message"]
    told = json.loads(shell.refused("query", "explain", "none", "--json"))
    assert told == {"error": {"kind": "UnknownQuery", "message": "there is no query 'none'"}}
    told = json.loads(shell.refused("run", "nothing.toml", "--json"))
    assert told["error"]["kind"] == "InvalidQuery"
    for words in (["query", "drop", "--json"], ["query", "explain", "--json"]):
        assert json.loads(shell.refused(*words))["error"]["kind"] in (
            "UsageError",
            "MissingParameter",
        )
    told = json.loads(shell.refused("query", "bogus", "--json"))
    assert told["error"]["message"] == "No such command 'bogus'."


def test_shell_completion() -> None:
    env = {**os.environ, "_WATCHLINE_COMPLETE": "bash_complete"}
    env |= {"COMP_WORDS": "watchline query ", "COMP_CWORD": "2"}
    command = [os.path.join(os.path.dirname(sys.executable), "watchline")]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    names = ["add", "drop", "explain", "list", "load"]
    assert done.stdout.split() == [f"plain,{name}" for name in names]
    source = subprocess.run(
        command,
        env={**os.environ, "_WATCHLINE_COMPLETE": "zsh_source"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "compdef" in source.stdout
