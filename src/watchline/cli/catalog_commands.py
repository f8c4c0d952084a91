"""`watchline catalog`: whether a catalog's files are whole, and how to mend them."""

from __future__ import annotations

import json
from typing import Any

import click

from watchline.catalog import check, repair
from watchline.cli.shared import Command, Group, catalog_option, catalog_path, json_option

# The exit code of a check that found damage; a user's mistake has 2.
DAMAGE = 1


@click.group("catalog", cls=Group)
def catalog_group() -> None:
    """Check and repair the files of a catalog."""


@catalog_group.command(
    "check",
    cls=Command,
    examples="""
watchline --catalog demo catalog check
watchline --catalog demo catalog check --json
""",
)
@json_option
@catalog_option
def catalog_check(as_json: bool, catalog: str | None) -> None:
    """Read all of the catalog. Exit code 0 if it is sound, 1 if it is damaged."""
    path = catalog_path(catalog)
    health = check(path)
    record: dict[str, Any] = {
        "catalog": path,
        "sound": health.is_sound,
        "newest_readable_version": health.newest,
        "restorable_version": health.restorable,
        "damage": list(health.faults),
    }
    if health.is_sound:
        text = f"the catalog at {path} is sound (version {health.newest})"
    else:
        lines = [f"the catalog at {path} is damaged:", *(f"  {fault}" for fault in health.faults)]
        text = "\n".join([*lines, *_remedies(path, health.newest, health.restorable)])
    click.echo(json.dumps(record, ensure_ascii=False) if as_json else text)
    if not health.is_sound:
        click.get_current_context().exit(DAMAGE)


def _remedies(path: str, newest: int | None, restorable: int | None) -> list[str]:
    command = f"watchline --catalog {path} catalog repair"
    if restorable is not None:
        return [f"`{command}` puts back what was lost (version {restorable})"]
    if newest is not None:
        return [
            "no copy is left of what was lost: restore the folder from a backup, or",
            f"`{command} --to {newest}` goes on from version {newest}, under a new number",
        ]
    return ["no version can be read: restore the folder from a backup"]


@catalog_group.command(
    "repair",
    cls=Command,
    examples="""
watchline --catalog demo catalog repair
watchline --catalog demo catalog repair --to 41
""",
)
@click.option(
    "--to",
    type=click.IntRange(min=0),
    metavar="VERSION",
    help="Go back to this version for good. It gets a new number; older numbers are unknown then.",
)
@json_option
@catalog_option
def catalog_repair(to: int | None, as_json: bool, catalog: str | None) -> None:
    """Put lost entries back as they were, or go back to an older version."""
    path = catalog_path(catalog)
    version = repair(path, to)
    text = f"the catalog at {path} is sound (version {version})"
    click.echo(json.dumps({"catalog": path, "version": version}) if as_json else text)
