"""Apache Sedona as a rival: in a process of its own, with the Spark that it is published for.

`scripts/sedona` installs both into .compat/sedona.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from bench.tracking.processor import processor_seconds_of

ROOT = Path(__file__).parents[2]
INSTALLER = "scripts/sedona"
FOLDER = ROOT / ".compat" / "sedona"
PROGRAM = Path(__file__).parent / "sedona_join.py"


def installed() -> bool:
    return (FOLDER / ".installed").exists()


class Sedona:
    """A running `sedona_join.py` over a file of points and a file of polygons.

    It rests between runs, so that it can take turns with others. Its errors go to a file `log`,
    whose last line says why it ended before it was closed.
    """

    def __init__(self, points: Path, regions: Path, log: Path) -> None:
        jar = next(FOLDER.glob("*sedona-*.jar"))
        ours = ("SPARK_", "PYSPARK_", "PYTHON")
        surroundings = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        home = {"SPARK_HOME": str(FOLDER / "pyspark"), "PYTHONPATH": str(FOLDER)}
        self._log = log
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                [sys.executable, PROGRAM, jar, points, regions],
                env=surroundings | home, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            )  # fmt: skip

    def pairs(self) -> tuple[int, int]:
        """The number and the checksum of its pairs; the first question."""
        count, total = self._line().split()
        return int(count), int(total)

    def run(self) -> float:
        """Seconds of one run of the join."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        return float(self._line())

    def processor_seconds(self) -> float:
        """Processor time of the program and its JVM so far."""
        return processor_seconds_of(self._process.pid)

    def close(self) -> None:
        """End the program, and the JVM that it has started."""
        # A buffer that a program which ended did not take cannot be flushed.
        with suppress(BrokenPipeError):
            self._process.communicate()

    def _line(self) -> str:
        assert self._process.stdout is not None
        if line := self._process.stdout.readline():
            return line
        raise RuntimeError(self._log.read_text().strip().rpartition("\n")[2] or "no answer")
