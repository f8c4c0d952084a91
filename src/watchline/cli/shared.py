"""What all commands share: our errors as one message and exit code 2, examples in `--help`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, TypeVar

import click

from watchline.errors import QuerySyntaxError, WatchlineError, WatchlineWarning

F = TypeVar("F", bound=Callable[..., Any])

CATALOG_HELP = "Folder or object-store URL of the catalog; also WATCHLINE_CATALOG."


class Mistake(click.ClickException):
    """A user's mistake: one message on standard error, as JSON where `--json` was given."""

    exit_code = 2

    def __init__(self, error: Exception, as_json: bool):
        super().__init__(
            error.format_message() if isinstance(error, click.UsageError) else str(error)
        )
        self._error, self._json = error, as_json

    def show(self, file: Any = None) -> None:
        click.echo(json.dumps(self._record()) if self._json else f"error: {self.message}", err=True)

    def _record(self) -> dict[str, Any]:
        problem = getattr(self._error, "problem", self.message)
        record = {"kind": type(self._error).__name__, "message": problem}
        if isinstance(self._error, QuerySyntaxError):
            record |= {"line": self._error.line, "column": self._error.column}
        return {"error": record}


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Our warnings as one line on standard error, each time they are given."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", WatchlineWarning)
        shown = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, WatchlineWarning):
                click.echo(f"warning: {message}", err=True)
            else:
                shown(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield


class Command(click.Command):
    """Turns our errors into a message and exit code 2, and shows examples as they are typed."""

    def __init__(self, *args: Any, examples: str = "", **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.examples = examples

    def invoke(self, ctx: click.Context) -> Any:
        as_json = bool(ctx.params.get("as_json"))
        try:
            return super().invoke(ctx)
        except WatchlineError as error:
            raise Mistake(error, as_json) from error
        except click.UsageError as error:
            raise (Mistake(error, True) if as_json else error) from error

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        as_json = "--json" in args  # click takes the words away as it reads them
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise (Mistake(error, True) if as_json else error) from error

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples.strip().splitlines():
                    formatter.write(f"  {line}\n")


class Group(click.Group):
    """Commands under one word; an unknown one is told as JSON where `--json` was given."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise (Mistake(error, True) if "--json" in args else error) from error


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def catalog_option(command: F) -> F:
    """`--catalog`, after the subcommand as well as before it."""
    option = click.option("--catalog", metavar="PATH", help=CATALOG_HELP)
    return option(command)


def catalog_path(catalog: str | None) -> str:
    """The catalog as it is named after the subcommand, before it, or in the environment."""
    path = catalog or click.get_current_context().find_root().params.get("catalog")
    if not path:
        raise click.UsageError("name the catalog with --catalog PATH or WATCHLINE_CATALOG")
    return str(path)
