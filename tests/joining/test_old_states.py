"""A joiner goes on from the state that commit 6de3d4c wrote, as that commit went on itself."""

from __future__ import annotations

from pathlib import Path

import watchline as wl
from tests.support.old_files import continued, execute_later, in_order, later_tables, plain, unpack


def test_a_joiner_goes_on(tmp_path: Path) -> None:
    unpack(tmp_path)
    blob = (tmp_path / "joiner.state").read_bytes()
    catalog = execute_later(tmp_path)
    joiner = wl.Joiner.restore(catalog, ["r", "s"], blob)
    joiner.advance_to(catalog.version)
    pieces = zip(later_tables(tmp_path, "r"), later_tables(tmp_path, "s"), strict=True)
    pairs = [joiner.process({"r": r, "s": s}) for r, s in pieces]
    pairs.append(joiner.finish())
    for found, wanted in zip(pairs, continued()["joiner"], strict=True):
        assert in_order(plain(found)) == in_order(wanted)
