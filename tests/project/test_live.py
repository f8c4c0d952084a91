"""What the demos on Spark share."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples import live


def test_an_interrupted_demo_leaves_nothing_and_prints_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHLINE_DEMO", str(tmp_path / "demo"))
    made = tmp_path / "demo"

    def demo() -> None:
        with live.folder():
            made.mkdir()
            raise KeyboardInterrupt

    with pytest.raises(SystemExit) as ended:
        demo()
    assert ended.value.code == 130
    assert not made.exists()
