"""Watchline on Spark: the only package that imports pyspark.

- supported.py: which releases of PySpark are accepted
- settings.py: a SparkSession with the settings Watchline needs
- gateway.py: the JVM of a session, away from signals to the driver, and quiet
- dataframe.py: DataFrame in, DataFrame of matches or changes out: the driver's part
- observing.py: counters of a result, on the driver; counting.py: as tasks write them
- joined.py: DataFrames of several streams in, joined rows out; frames.py: what both share
- place.py: where other processes find the catalog
- worker.py: what runs in Spark's Python workers, and what they keep between tasks
- routing.py, shard.py: for changes, before and after the shuffle; joining.py: the same for joins
- state.py: where the state of a shard lives
- versions.py: a stream of catalog versions, so that a registration starts a batch
- job.py: a configured job from source to sink
- sink.py: the committed files of Spark's file sink
- pin.py: one catalog version per micro-batch, the same on every replay
- daemon.py: the process that workers are forked from, with all that they import
- warming.py: the kernels of a job, compiled in other processes while Spark starts

Parts load when first used: Spark starts helper processes that need `versions` alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from watchline.spark.supported import check_pyspark

if TYPE_CHECKING:
    from watchline.spark.dataframe import changes, matches
    from watchline.spark.joined import joins
    from watchline.spark.observing import counters
    from watchline.spark.settings import session
    from watchline.spark.warming import warm_up

__all__ = ["changes", "counters", "joins", "matches", "session", "warm_up"]

_HOMES = {
    "changes": "dataframe",
    "counters": "observing",
    "joins": "joined",
    "matches": "dataframe",
    "session": "settings",
    "warm_up": "warming",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'watchline.spark' has no attribute {name!r}")
    check_pyspark()
    return getattr(importlib.import_module(f"watchline.spark.{_HOMES[name]}"), name)
