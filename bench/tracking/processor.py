"""Processor time of a program on this machine, as of Spark: its JVM and all processes below it.

A wall clock measures the neighbours, too; this does so much less. Linux tells it in /proc.
"""

from __future__ import annotations

import os
from pathlib import Path

from pyspark.sql import SparkSession

_TICK = os.sysconf("SC_CLK_TCK")


def processor_seconds(spark: SparkSession) -> float:
    """Seconds that the JVM, its descendants, and those of them that ended have taken so far."""
    return processor_seconds_of(int(spark.sparkContext._gateway.proc.pid))


def processor_seconds_of(program: int) -> float:
    """The same of a process by its number."""
    parents: dict[int, int] = {}
    taken: dict[int, float] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        number = int(folder.name)
        parents[number] = int(fields[1])
        # Its own, and that of children for whose end it has waited.
        taken[number] = sum(map(int, fields[11:15])) / _TICK
    return sum(of for number, of in taken.items() if _descends(number, program, parents))


def _descends(number: int, ancestor: int, parents: dict[int, int]) -> bool:
    while number > 1 and number != ancestor:
        number = parents.get(number, 0)
    return number == ancestor
