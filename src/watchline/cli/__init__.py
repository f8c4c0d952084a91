"""The `watchline` command."""

from watchline.cli.main import cli

__all__ = ["cli"]
