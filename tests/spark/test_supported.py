"""Which releases of PySpark are accepted: one message for any other, before it is imported."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from watchline.errors import EngineError
from watchline.spark import supported

ROOT = Path(__file__).parents[2]


def first_use(folder: Path, release: str | None) -> str:
    """What `wl.session()` says with a PySpark that has a version and nothing else, or with none."""
    (folder / "pyspark").mkdir()
    (folder / "pyspark" / "__init__.py").touch()
    (folder / "pyspark" / "version.py").write_text(f"__version__ = {release!r}")
    hide = "import sys; sys.modules['pyspark'] = None; " if release is None else ""
    code = (
        f"{hide}import watchline as wl\ntry:\n    wl.session\nexcept wl.EngineError as e: print(e)"
    )
    env = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("release", ["3.5.9", "4.4.0", "5.0.0.dev1"])
def test_another_release_is_refused(tmp_path: Path, release: str) -> None:
    assert first_use(tmp_path, release) == (
        f"Watchline needs PySpark 4.0 or newer, below 4.4; this is PySpark {release}:"
        " install one with: pip install pyspark==4.2.0\n"
    )


def test_no_pyspark_at_all(tmp_path: Path) -> None:
    assert "and there is none: install one with" in first_use(tmp_path, None)


def test_the_project_declares_what_is_checked() -> None:
    declared = (ROOT / "pyproject.toml").read_text()
    lowest, beyond = (".".join(map(str, r)) for r in (supported.LOWEST, supported.BEYOND))
    assert f'"pyspark>={lowest},<{beyond}"' in declared
    assert f'"pyspark=={supported.PINNED}"' in declared
    for lock in ("requirements.lock", "requirements-bench.lock"):
        pinned = re.findall(r"^pyspark==(\S+)", (ROOT / lock).read_text(), re.MULTILINE)
        assert pinned == [supported.PINNED]
    script = (ROOT / "scripts" / "test-spark").read_text()
    assert f"lowest={lowest}.0\n" in script
    assert f"highest={supported.BEYOND[0]}.{supported.BEYOND[1] - 1}." in script


def test_an_old_release_with_a_new_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supported, "can_wake", lambda: False)
    monkeypatch.setattr(supported, "version", lambda name: "26.0.1")
    with pytest.raises(EngineError, match=r"install an older one with: pip install 'pyarrow<26'"):
        supported.check_pyspark()
    monkeypatch.setattr(supported, "version", lambda name: "25.9.9")
    supported.check_pyspark()
