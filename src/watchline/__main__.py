"""The entry point of the `watchline` command and of `python -m watchline`."""

from __future__ import annotations

import sys


def main() -> None:
    """The entry of the `watchline` command."""
    try:
        from watchline.cli import cli
    except KeyboardInterrupt:
        # Ctrl-C while Python still imports: nothing has begun, and there is nothing to tell.
        sys.exit(130)
    cli(prog_name="watchline")


if __name__ == "__main__":
    main()
