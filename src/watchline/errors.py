"""The one error tree.

A message says what was wrong, where, and what to do. Everything a user can cause is a
`WatchlineError`; any other exception that leaves the package is a defect of ours.
"""

from __future__ import annotations


class WatchlineError(Exception):
    """The root of all errors that Watchline raises on purpose.

    `clause` names the part of a statement that is to blame, where one part is.
    """

    def __init__(self, message: str, *, clause: str = ""):
        super().__init__(message)
        self.clause = clause


class InvalidRange(WatchlineError, ValueError):
    """A range, size or count that cannot hold anything: NaN, `lo >= hi`, a radius below zero."""


class InvalidQuery(WatchlineError, ValueError):
    """A query or stream whose parts do not fit together."""


class InvalidNetwork(WatchlineError, ValueError):
    """A road network whose nodes and edges do not fit together, or cannot be travelled."""


class UnknownStream(WatchlineError, LookupError):
    """No stream of that name is registered."""


class UnknownAttribute(WatchlineError, LookupError):
    """The stream has no attribute of that name."""


class UnknownQuery(WatchlineError, LookupError):
    """No query of that id is registered."""


class UnknownVersion(WatchlineError, LookupError):
    """The catalog has no such version: not yet, or not any more."""


class DuplicateStream(WatchlineError, ValueError):
    """A stream of that name is registered already."""


class DuplicateQuery(WatchlineError, ValueError):
    """A query of that id is registered already."""


class SchemaMismatch(WatchlineError, ValueError):
    """Rows or a DataFrame lack a declared column, or have it with another type."""


class InvalidState(WatchlineError, ValueError):
    """A saved state that is damaged, of another format, or of another catalog or stream."""


class EngineError(WatchlineError):
    """Spark or Java is missing, too old, or used in a way that Watchline cannot support."""


class CatalogError(WatchlineError):
    """The catalog's storage cannot be opened, read or written."""


class CatalogMissing(CatalogError):
    """There is no catalog at that place."""


class CatalogDamaged(CatalogError):
    """Files of the catalog were emptied, cut off or deleted; it refuses to go on without them.

    `damage` says in a few words what was found.
    """

    def __init__(self, message: str, damage: str = ""):
        super().__init__(message)
        self.damage = damage or message


class CatalogBusy(CatalogError):
    """Other writers won every attempt at a commit; nothing of this one was kept."""


class QuerySyntaxError(WatchlineError, ValueError):
    """A statement that is wrong, with the place in it.

    `line` and `column` count from 1; `problem` is the message without the picture of the place.
    """

    def __init__(self, problem: str, text: str = "", start: int = 0, end: int | None = None):
        self.problem = problem
        start = min(start, len(text))
        self.line = text.count("\n", 0, start) + 1
        line_start = text.rfind("\n", 0, start) + 1
        self.column = start - line_start + 1
        super().__init__(problem + self._picture(text, line_start, start, end) if text else problem)

    def _picture(self, text: str, line_start: int, start: int, end: int | None) -> str:
        """The line with a caret under the place; a long line is cut around it."""
        line_end = text.find("\n", start)
        line_end = len(text) if line_end < 0 else line_end
        stop = max(start + 1, min(end if end is not None else start + 1, line_end))
        left, right = max(line_start, start - 60), min(line_end, start + 60)
        before = ("…" if left > line_start else "") + _one_column_each(text[left:start])
        after = _one_column_each(text[start:right]) + ("…" if right < line_end else "")
        carets = "^" * min(stop - start, max(1, right - start))
        return (
            f"\n  at line {self.line}, column {self.column}:"
            f"\n    {before}{after}\n    {' ' * len(before)}{carets}"
        )


class WatchlineWarning(UserWarning):
    """The root of all warnings that Watchline gives: a call goes on, but leaves something out."""


class UnansweredWarning(WatchlineWarning):
    """Some queries of the catalog are not answered by the call; the message says which and why."""


class SelectWarning(WatchlineWarning):
    """SELECT lists differ between queries that share a result, so all attributes come out."""


def _one_column_each(text: str) -> str:
    """Control characters would shift the caret (or drive the terminal): show each as one blank."""
    return "".join(c if c.isprintable() else " " for c in text)
