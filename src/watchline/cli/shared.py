"""What all commands share: our errors as one message and exit code 2, examples in `--help`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, TypeVar

import click

from watchline.errors import WatchlineError, WatchlineWarning

F = TypeVar("F", bound=Callable[..., Any])

CATALOG_HELP = "Folder or object-store URL of the catalog; also WATCHLINE_CATALOG."


class Mistake(click.ClickException):
    exit_code = 2

    def show(self, file: Any = None) -> None:
        click.echo(f"error: {self.message}", err=True)


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
        try:
            return super().invoke(ctx)
        except WatchlineError as error:
            raise Mistake(str(error)) from error

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples.strip().splitlines():
                    formatter.write(f"  {line}\n")


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
