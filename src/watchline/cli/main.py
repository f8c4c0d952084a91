"""The `watchline` command.

A user's mistake ends with exit code 2 and one message on standard error; `--json` gives machines
what a terminal gives people.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

import click

from watchline import sql
from watchline.catalog import Catalog, Queries
from watchline.cli.catalog_commands import catalog_group
from watchline.cli.load import query_load
from watchline.cli.run import replay_command, reshard_command, run_command
from watchline.cli.shared import (
    CATALOG_HELP,
    Command,
    Group,
    catalog_option,
    catalog_path,
    json_option,
)
from watchline.errors import CatalogMissing, InvalidQuery, UnknownQuery
from watchline.model import Query, Stream, interval_sql, name_sql, shortened
from watchline.sql import DropSyntax, QuerySyntax, StreamSyntax

file_option = click.option(
    "--file",
    "-f",
    "file",
    type=click.File("r", encoding="utf-8-sig"),
    help="Read statements from a file, - for standard input.",
)


def _open(catalog: str | None, create: bool = False) -> Catalog:
    return Catalog(catalog_path(catalog), create=create)


@click.group(
    cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option("--catalog", metavar="PATH", envvar="WATCHLINE_CATALOG", help=CATALOG_HELP)
@click.version_option(package_name="watchline")
def cli(catalog: str | None) -> None:
    """Standing queries over live data.

    \b
    Try:
      watchline --catalog demo stream add "CREATE STREAM ticks (symbol STRING, price DOUBLE,
          ts TIMESTAMP) OBJECT symbol TIME ts"
      watchline --catalog demo query add cheap "SELECT * FROM ticks WHERE price < 40"
      watchline --catalog demo query list
    """


cli.add_command(run_command)
cli.add_command(replay_command)
cli.add_command(reshard_command)
cli.add_command(catalog_group)


@cli.group(cls=Group)
def query() -> None:
    """Register, drop, list and explain queries."""


@cli.group(cls=Group)
def stream() -> None:
    """Declare, drop and list streams."""


# --- query

query.add_command(query_load)


@query.command(
    "add",
    cls=Command,
    examples="""
watchline --catalog demo query add "CREATE QUERY cheap AS SELECT * FROM ticks WHERE price < 40"
watchline --catalog demo query add cheap "SELECT * FROM ticks WHERE price < 40 EMIT CHANGES"
watchline --catalog demo query add --replace cheap "SELECT * FROM ticks WHERE price < 45"
watchline --catalog demo query add --file queries.sql
""",
)
@click.argument("statement", nargs=-1)
@click.option("--replace", is_flag=True, help="Replace the query if its id is known.")
@file_option
@json_option
@catalog_option
def query_add(
    statement: tuple[str, ...], replace: bool, file: Any, as_json: bool, catalog: str | None
) -> None:
    """Register queries: CREATE QUERY statements, or an ID and a SELECT. All of them or none."""
    if len(statement) == 2:
        verb = "CREATE OR REPLACE QUERY" if replace else "CREATE QUERY"
        statement = (f"{verb} {name_sql(statement[0])} AS {statement[1]}",)
    elif replace:
        raise click.UsageError("--replace goes with an ID and a SELECT")
    text = _text(statement, file)
    syntaxes = sql.parse(text)
    for syntax in syntaxes:
        if not isinstance(syntax, QuerySyntax):
            syntax.place.refuse("expected CREATE QUERY here")
    version = _open(catalog).execute(text)
    ids = [s.name.text for s in syntaxes if isinstance(s, QuerySyntax)]
    _report({"version": version, "queries": ids}, _counted("query", ids, version), as_json)


@query.command(
    "drop",
    cls=Command,
    examples="""
watchline --catalog demo query drop cheap dear
watchline --catalog demo query drop --like "fence-*"
watchline --catalog demo query drop --file ids.txt
""",
)
@click.argument("ids", nargs=-1)
@click.option("--like", "pattern", metavar="GLOB", help="All queries whose id is like fence-*.")
@click.option(
    "--file",
    "-f",
    "file",
    type=click.File("r", encoding="utf-8-sig"),
    help="Read ids from a file, one a line, - for standard input.",
)
@json_option
@catalog_option
def query_drop(
    ids: tuple[str, ...], pattern: str | None, file: Any, as_json: bool, catalog: str | None
) -> None:
    """Drop queries by their ids, by a pattern or from a file: all of them or none."""
    if (bool(ids) + (pattern is not None) + (file is not None)) != 1:
        raise click.UsageError("give ids, or --like GLOB, or --file PATH")
    opened = _open(catalog)
    if pattern is not None:
        names = [name for name in opened.queries().ids() if fnmatchcase(name, pattern)]
        if not names:
            raise UnknownQuery(f"no query is like {pattern!r}")
    else:
        names = list(dict.fromkeys(ids if file is None else _lines(file)))
    # A query of the pattern may be dropped by somebody else meanwhile.
    version = opened.drop_many(names, if_exists=pattern is not None)
    _report({"version": version, "dropped": names}, _dropped(names, version), as_json)


@query.command(
    "list",
    cls=Command,
    examples="""
watchline --catalog demo query list
watchline --catalog demo query list --stream ticks --limit 10
watchline --catalog demo query list --version 3 --json
watchline --catalog demo query list --where "properties.kind = 'school'"
""",
)
@click.option("--stream", "stream_name", metavar="NAME", help="Only queries that read this stream.")
@click.option(
    "--where",
    metavar="CONDITION",
    help="Only these: a condition over id, stream, emit and properties.name.",
)
@click.option("--version", type=int, help="As of this version of the catalog.")
@click.option("--limit", type=click.IntRange(min=0), help="At most so many (a table shows 100).")
@json_option
@catalog_option
def query_list(
    stream_name: str | None,
    where: str | None,
    version: int | None,
    limit: int | None,
    as_json: bool,
    catalog: str | None,
) -> None:
    """List the registered queries."""
    opened = _open(catalog)
    queries = opened.queries(version)
    if stream_name is not None:
        opened.stream(
            stream_name, queries.version
        )  # an unknown name is a mistake, not an empty list
        queries = queries.on(stream_name)
    if where is not None:
        queries = queries.chosen_by(sql.filter_of(where))
    limit = limit if limit is not None else (len(queries) if as_json else 100)
    shown = islice(queries, limit)
    if as_json:
        _json_list(_query_record(q) for q in shown)
        return
    header = ["id", "stream", "emits", "query"]
    rows = [[q.id, ", ".join(s.stream for s in q.sources), q.emit.value, _body(q),
             shortened(q.properties or "", 200)] for q in shown]  # fmt: skip
    if any(row[-1] for row in rows):
        header.append("properties")
    _table(header, [row[: len(header)] for row in rows])
    _more(queries, len(rows))


@query.command("explain", cls=Command, examples="watchline --catalog demo query explain cheap")
@click.argument("query_id", metavar="ID")
@json_option
@catalog_option
def query_explain(query_id: str, as_json: bool, catalog: str | None) -> None:
    """Show how Watchline understands a query."""
    opened = _open(catalog)
    text = opened.explain(query_id)
    record = {**_query_record(opened.queries()[query_id]), "explanation": text}
    _report(record, text, as_json)


# --- stream


@stream.command(
    "add",
    cls=Command,
    examples="""
watchline --catalog demo stream add "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE,
    ts TIMESTAMP) OBJECT id TIME ts POINT (x, y) TIMEOUT INTERVAL 90 SECONDS"
watchline --catalog demo stream add --file streams.sql
""",
)
@click.argument("statement", nargs=-1)
@file_option
@json_option
@catalog_option
def stream_add(statement: tuple[str, ...], file: Any, as_json: bool, catalog: str | None) -> None:
    """Declare streams. Creates the catalog if there is none yet."""
    text = _text(statement, file)
    syntaxes = sql.parse(text)
    for syntax in syntaxes:
        if not isinstance(syntax, StreamSyntax):
            syntax.place.refuse("expected CREATE STREAM here")
        sql.bind(syntax, {})  # a bad statement must not leave an empty catalog behind
    opened = _open(catalog, create=True)
    known = {s.name for s in opened.streams()}
    version = opened.execute(text)
    names = [s.name.text for s in syntaxes if isinstance(s, StreamSyntax)]
    names = [name for name in names if name not in known]  # IF NOT EXISTS
    _report({"version": version, "streams": names}, _counted("stream", names, version), as_json)


@stream.command("drop", cls=Command, examples="watchline --catalog demo stream drop cars")
@click.argument("names", nargs=-1, required=True)
@json_option
@catalog_option
def stream_drop(names: tuple[str, ...], as_json: bool, catalog: str | None) -> None:
    """Drop streams that no query reads: all of them or none."""
    version = _open(catalog).execute("; ".join(f"DROP STREAM {name_sql(n)}" for n in names))
    _report({"version": version, "dropped": list(names)}, _dropped(list(names), version), as_json)


@stream.command("list", cls=Command, examples="watchline --catalog demo stream list --json")
@json_option
@catalog_option
def stream_list(as_json: bool, catalog: str | None) -> None:
    """List the declared streams."""
    streams = _open(catalog).streams()
    if as_json:
        _json_list(_stream_record(s) for s in streams)
        return
    rows = []
    for s in streams:
        columns = ", ".join(f"{a.name} {a.type.value}" for a in s.attributes)
        timeout = interval_sql(s.timeout) if s.timeout else ""
        point = ", ".join(s.point or ()) + (" AS GEOGRAPHY" if s.geography else "")
        rows.append([s.name, columns, s.object, s.time, point, timeout])
    _table(["stream", "attributes", "object", "time", "point", "timeout"], rows)


# --- scripts


@cli.command(
    "execute",
    cls=Command,
    examples="""
watchline --catalog demo execute --file setup.sql
watchline --catalog demo execute "DROP QUERY IF EXISTS a; CREATE QUERY b AS SELECT * FROM ticks"
""",
)
@click.argument("statement", nargs=-1)
@file_option
@json_option
@catalog_option
def execute(statement: tuple[str, ...], file: Any, as_json: bool, catalog: str | None) -> None:
    """Run CREATE STREAM, CREATE QUERY and DROP in any mixture, as one version: all or nothing.

    Creates the catalog if there is none yet and the script declares a stream.
    """
    text = _text(statement, file)
    syntaxes = sql.parse(text)
    for syntax in syntaxes:
        if not isinstance(syntax, (StreamSyntax, QuerySyntax, DropSyntax)):
            syntax.place.refuse("expected CREATE or DROP here")
    creates = any(isinstance(syntax, StreamSyntax) for syntax in syntaxes)
    try:
        opened = _open(catalog)
    except CatalogMissing:
        if not creates:
            raise
        Catalog.of().execute(text)  # a bad statement must not leave an empty catalog behind
        opened = _open(catalog, create=True)
    before = opened.version
    version = opened.execute(text)
    done = f"{len(syntaxes):,} statements" if len(syntaxes) != 1 else "1 statement"
    outcome = (
        f"ran {done} (version {version})"
        if version > before
        else f"nothing to do (version {version})"
    )
    _report({"version": version, "statements": len(syntaxes)}, outcome, as_json)


# --- output


def _text(statement: tuple[str, ...], file: Any) -> str:
    if (len(statement) == 1) == (file is not None):
        raise click.UsageError("give one statement in quotes, or --file PATH")
    return statement[0] if file is None else _read(file)


def _read(file: Any) -> str:
    try:
        return str(file.read())
    except UnicodeDecodeError as error:
        raise InvalidQuery(f"{file.name} is not UTF-8 text: {error.reason}") from None


def _lines(file: Any) -> list[str]:
    """The ids in a file."""
    names = [line.strip() for line in _read(file).splitlines() if line.strip()]
    if not names:
        raise InvalidQuery(f"{file.name} has no ids")
    return names


def _dropped(names: list[str], version: int) -> str:
    shown = ", ".join(names[:10]) + (" …" if len(names) > 10 else "")
    count = "" if len(names) < 4 else f"{len(names):,}: "
    return f"dropped {count}{shown} (version {version})"


def _counted(what: str, names: list[str], version: int) -> str:
    if not names:
        return f"nothing to do: all of it exists (version {version})"
    plural = {"query": "queries", "stream": "streams"}[what]
    listed = names[0] if len(names) == 1 else f"{len(names):,} {plural}"
    return f"registered {listed} (version {version})"


def _report(record: dict[str, Any], text: str, as_json: bool) -> None:
    click.echo(json.dumps(record, ensure_ascii=False) if as_json else text)


def _json_list(records: Iterator[dict[str, Any]]) -> None:
    """A JSON array, one record a line, written as it is made."""
    opening = "["
    for record in records:
        click.echo(f"{opening}\n{json.dumps(record, ensure_ascii=False)}", nl=False)
        opening = ","
    click.echo("[]" if opening == "[" else "\n]")


def _query_record(q: Query) -> dict[str, Any]:
    return {
        "id": q.id,
        "streams": [s.stream for s in q.sources],
        "emit": q.emit.value.lower(),
        "properties": json.loads(q.properties) if q.properties else None,
        "sql": q.sql,
    }


def _stream_record(s: Stream) -> dict[str, Any]:
    return {
        "stream": s.name,
        "attributes": {a.name: a.type.value for a in s.attributes},
        "object": s.object,
        "time": s.time,
        "point": s.point,
        "geography": s.geography,
        "timeout_microseconds": s.timeout,
        "max_speed": s.max_speed,
        "sql": repr(s),
    }


def _body(q: Query) -> str:
    return shortened(q.body, 200)


def _table(header: list[str], rows: list[list[str]]) -> None:
    """Aligned on a terminal, tab-separated into a pipe."""
    if not sys.stdout.isatty():
        for row in [header, *rows]:
            click.echo("\t".join(" ".join(cell.split()) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*header, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


def _more(queries: Queries, shown: int) -> None:
    if len(queries) > shown:
        click.echo(f"… and {len(queries) - shown:,} more: see --limit", err=True)
