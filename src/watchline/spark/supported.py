"""Which releases of PySpark Watchline runs on, checked before any module that a release may lack.

`make test-spark` runs a part of the Spark tests with the lowest and the highest of them.
"""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec

from watchline.errors import EngineError

# The first release that works, and the first that nobody has tried; pyproject.toml says the same.
LOWEST, BEYOND = (4, 0), (4, 4)
PINNED = "4.2.0"
# PySpark below 4.2 gives pyarrow floats where newer pyarrow takes only integers.
OLD_ARROW = 25


def check_pyspark() -> None:
    """Refuse a PySpark that is missing, too old or untried, in one sentence."""
    wanted = "Watchline needs PySpark {}.{} or newer, below {}.{}".format(*LOWEST, *BEYOND)
    remedy = f"install one with: pip install pyspark=={PINNED}"
    try:
        from pyspark.version import __version__
    except ImportError:
        raise EngineError(f"{wanted}, and there is none: {remedy}") from None

    major, minor = __version__.split(".")[:2]
    if not LOWEST <= (int(major), int(minor)) < BEYOND:
        raise EngineError(f"{wanted}; this is PySpark {__version__}: {remedy}")
    arrow = version("pyarrow")
    if not can_wake() and int(arrow.split(".")[0]) > OLD_ARROW:
        raise EngineError(
            f"PySpark {__version__} cannot work with pyarrow {arrow}: install an older one with:"
            f" pip install 'pyarrow<{OLD_ARROW + 1}', or PySpark {PINNED}"
        )


def can_wake() -> bool:
    """Whether a Python data source can start a batch under every trigger: from PySpark 4.2 on."""
    return find_spec("pyspark.sql.streaming.datasource") is not None
