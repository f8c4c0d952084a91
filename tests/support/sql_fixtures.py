"""The plain-text SQL fixtures: a statement, `=>`, and its model or its error.

    statement
    => canonical statement
    ---
    statement
    => error message, with the picture of the place

`WATCHLINE_UPDATE_FIXTURES=1 pytest tests/sql/test_fixtures.py` writes the right-hand sides
anew; read the difference before you keep it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from watchline import sql
from watchline.errors import WatchlineError
from watchline.model import Stream

FOLDER = Path(__file__).parents[1] / "sql"
ARROW = "\n=> "


@dataclass(frozen=True)
class Pair:
    file: str
    number: int
    comment: str
    statement: str
    expected: str

    @property
    def name(self) -> str:
        return f"{self.file}-{self.number}"


def pairs(file: str) -> list[Pair]:
    found = []
    text = (FOLDER / f"{file}.sql").read_text(encoding="utf-8").removesuffix("\n")
    for number, block in enumerate(text.split("\n---\n"), 1):
        lines = block.split("\n")
        comment = "".join(line + "\n" for line in lines if line.startswith("#"))
        body = "\n".join(line for line in lines if not line.startswith("#"))
        statement, _, expected = body.partition(ARROW)
        found.append(Pair(file, number, comment, statement, expected))
    return found


def outcome(statement: str, streams: list[Stream]) -> str:
    """What the statement means, or why it is refused, as text."""
    try:
        found = sql.statement(statement, streams)
    except WatchlineError as error:
        return f"{type(error).__name__}: {error}"
    if isinstance(found, sql.CreateQuery):
        return ("[or replace] " if found.replace else "") + found.query.sql
    if isinstance(found, sql.CreateStream):
        return ("[if not exists] " if found.if_not_exists else "") + repr(found.stream)
    return repr(found)


def update(file: str, streams: list[Stream]) -> None:
    blocks = [
        f"{p.comment}{p.statement}{ARROW}{outcome(p.statement, streams)}" for p in pairs(file)
    ]
    (FOLDER / f"{file}.sql").write_text("\n---\n".join(blocks) + "\n", encoding="utf-8")


def streams() -> list[Stream]:
    """The streams that the fixtures declare."""
    declared = [sql.statement(pair.statement) for pair in pairs("streams")]
    return [s.stream for s in declared if isinstance(s, sql.CreateStream)]
