"""Watchline on Spark: the only package that imports pyspark.

A session and its JVM
- supported.py: which releases of PySpark are accepted
- sessions.py: a SparkSession with the settings Watchline needs
- gateway.py: the JVM of a session, away from signals to the driver, and quiet
- daemon.py: the process that workers are forked from, with all that they import
- warming.py: the kernels of a job, compiled in other processes while Spark starts
- job.py: a configured job from source to sink; sink.py: the committed files of Spark's file sink

DataFrame in, DataFrame out
- frame_checks.py: DataFrames that users give, checked
- matching.py: `wl.matches`, its plan and its task
- shard_job.py: the plan that `wl.changes` and `wl.joins` share, on the driver
- routing.py: before its shuffle, in workers; shard_task.py: after it, over an `Engine` protocol
- tracking/: what is `wl.changes`' own; joining/: what is `wl.joins`' own
- observing.py: counters of a result, on the driver; batch_counters.py: as tasks write them

What they need
- catalog_ref.py: where other processes find the catalog
- worker.py: what workers keep between tasks, and what a task knows of its batch
- share.py: objects of large arrays, mapped by all workers of a machine
- wire.py: tables between operators, as Arrow IPC in binary columns
- store.py: all access to the files of states and pins
- shard_state.py: where the state of a shard lives
- checkpoint_shards.py: another number of shards for the checkpoint of a stopped job
- version_pin.py: one catalog version per micro-batch, the same on every replay
- version_source.py: a stream of catalog versions, so that a registration starts a batch

Parts load when first used: Spark starts helper processes that need `version_source` alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from watchline.spark.supported import check_pyspark

if TYPE_CHECKING:
    from watchline.spark.joining.driver import joins
    from watchline.spark.matching import matches
    from watchline.spark.observing import counters
    from watchline.spark.sessions import session
    from watchline.spark.tracking.driver import changes
    from watchline.spark.warming import warm_up

__all__ = ["changes", "counters", "joins", "matches", "session", "warm_up"]

_HOMES = {
    "changes": "tracking.driver",
    "counters": "observing",
    "joins": "joining.driver",
    "matches": "matching",
    "session": "sessions",
    "warm_up": "warming",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'watchline.spark' has no attribute {name!r}")
    check_pyspark()
    return getattr(importlib.import_module(f"watchline.spark.{_HOMES[name]}"), name)
