"""Counters of a result: tasks write them beside their rows, and Spark adds them up.

A task's counters are JSON in the column `COUNTS`, in a row that has nothing else or beside a packed
binary. `Observed.over` lets Spark combine those of all tasks of a batch (`DataFrame.observe`) on
their way to where these rows are removed. A streaming result has them in each batch's
`observedMetrics["watchline"]`; `wl.counters` gives those of a batch result.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as fn
from pyspark.sql import types as st

from watchline.errors import EngineError, SchemaMismatch
from watchline.spark.batch_counters import BY_REASON, COUNTS
from watchline.spark.worker import keep

# The column of counters, for results that are not packed.
COUNTS_FIELD = st.StructField(COUNTS, st.StringType())
# What users look up in a stream's progress.
NAME = "watchline"
# Observations of batch results that are remembered, the newest ones.
REMEMBERED = 1_000
# Spark's listeners hear of an action after its end: for so many seconds their news is waited for.
PATIENCE = 10.0
_observations: dict[str, tuple[Observation, int]] = {}
# Of a batch result: how many tasks have begun, and how many have sent their counters.
_BEGUN, _ENDED = "begun", "ended"


@dataclass(frozen=True)
class CounterKinds:
    """The names of counters, by how those of several tasks become one."""

    sums: tuple[str, ...]
    most: tuple[str, ...] = ()
    # Fractions; 1 where no task has one.
    least: tuple[str, ...] = ()
    by_reason: bool = False

    @property
    def ddl(self) -> str:
        names = [f"{name} long" for name in (*self.sums, *self.most)]
        names += [f"{name} double" for name in self.least]
        return ", ".join([*names, *([f"{BY_REASON} map<string, long>"] if self.by_reason else [])])

    def columns(self, known: Mapping[str, int]) -> list[Column]:
        """Aggregates of the parsed `COUNTS`; `known` is what counts where no task says anything."""
        found = []
        for names, combined in ((self.sums, fn.sum), (self.most, fn.max)):
            for name in names:
                total = combined(f"{COUNTS}.{name}")
                found.append(fn.coalesce(total, fn.lit(known.get(name, 0))).alias(name))
        found += [
            fn.coalesce(fn.min(f"{COUNTS}.{name}"), fn.lit(1.0)).alias(name) for name in self.least
        ]
        if self.by_reason:
            found.append(_summed_map(f"{COUNTS}.{BY_REASON}").alias(BY_REASON))
        return found


def _summed_map(column: str) -> Column:
    """The maps of all rows as one: for each key the sum of its values."""
    entries = fn.flatten(fn.collect_list(fn.map_entries(column)))
    keys = fn.array_distinct(fn.transform(entries, lambda entry: entry["key"]))

    def total(key: Column) -> Column:
        own = fn.filter(entries, lambda entry: entry["key"] == key)
        return fn.aggregate(own, fn.lit(0).cast("long"), lambda n, entry: n + entry["value"])

    return fn.map_from_arrays(keys, fn.transform(keys, total))


@dataclass(frozen=True)
class Observed:
    """How the counters of one result are observed.

    `known` is what counts where no task says anything; `name` is for a stream's progress. In a
    batch so many `tasks` send their counters; where this is 0, every task says when it begins.
    """

    kinds: CounterKinds
    known: Mapping[str, int]
    name: str = NAME
    tasks: int = 0

    def over(self, counted: DataFrame, *more: Column) -> DataFrame:
        """The DataFrame, observed, with `more` aggregates. The column `COUNTS` stays, parsed."""
        parsed = counted.withColumn(COUNTS, fn.from_json(COUNTS, self.kinds.ddl))
        columns = [*self.kinds.columns(self.known), *more]
        if counted.isStreaming:
            return parsed.observe(_free_name(counted, self.name), *columns)
        # A batch plan may have any number of results in it, and their names must differ.
        name = f"{NAME}-{uuid.uuid4().hex}"
        observation, _ = keep(_observations, name, (Observation(name), self.tasks), REMEMBERED)
        has_counters, is_ended = fn.col(COUNTS).isNotNull(), fn.col(f"{COUNTS}.rows").isNotNull()
        columns += [
            fn.count_if(has_counters & ~is_ended).alias(_BEGUN),
            fn.count_if(has_counters & is_ended).alias(_ENDED),
        ]
        return parsed.observe(observation, *columns)


def without_counts(counted: DataFrame) -> DataFrame:
    """The rows of the result alone, without those that have nothing but counters."""
    return counted.where(fn.col(COUNTS).isNull()).drop(COUNTS)


def with_counters(result: DataFrame) -> DataFrame:
    """The result, marked with its own observation: the outermost, if it is made from others."""
    if not result.isStreaming:
        result._watchline_counters = _names_in(result)[0]
    return result


def counters(result: DataFrame) -> dict[str, Any]:
    """The counters of a batch result, once an action on it has run.

    `result` is what `wl.matches`, `wl.changes` or `wl.joins` returned, or a DataFrame made from it.
    The counters are those of its first action. Before any action there are none, and after one that
    read a part of the result (`show`, `take`, `limit`) they are not known: an `EngineError`.
    """
    if not isinstance(result, DataFrame):
        raise SchemaMismatch(
            f"wl.counters takes a DataFrame that Watchline made, not {type(result).__name__}"
        )
    if result.isStreaming:
        raise EngineError(
            "the counters of a stream are those of each batch: look them up in"
            f' query.lastProgress["observedMetrics"]["{NAME}"]'
        )
    observation, tasks = _observation_of(result)
    if not _is_complete(observation, result):
        raise EngineError(
            "there are no counters yet: run an action on the DataFrame first, as collect or write"
        )
    found: dict[str, Any] = dict(observation.get)
    begun, ended = found.pop(_BEGUN), found.pop(_ENDED)
    # Where there is no input at all no task runs, and there is nothing to tell.
    if 0 < ended < tasks or (not tasks and ended < begun):
        raise EngineError(
            "the first action read a part of the result (show, take or limit), so that its"
            " counters are not known: make the result anew, and collect, count or write it first"
        )
    return found


def _free_name(df: DataFrame, name: str) -> str:
    """The name under which a stream's progress has the counters; an operator that follows another
    one in the same query has a number."""
    plan = _plan(df)
    names = chain([name], (f"{name} {number}" for number in count(2)))
    return next(free for free in names if f"CollectMetrics {free}," not in plan)


def _observation_of(result: DataFrame) -> tuple[Observation, int]:
    own = getattr(result, "_watchline_counters", None)
    names = [own] if own is not None else _names_in(result)
    if len(names) > 1:
        raise EngineError(
            f"the DataFrame is made from {len(names)} results, each with counters of its own: give"
            " wl.counters one of these"
        )
    if not names or names[0] not in _observations:
        raise EngineError(
            "the DataFrame has no counters: give wl.counters what wl.matches, wl.changes or"
            " wl.joins returned in this process"
        )
    return _observations[names[0]]


def _names_in(df: DataFrame) -> list[str]:
    """The names of our observations in a batch plan, the outermost first."""
    return list(dict.fromkeys(re.findall(rf"CollectMetrics ({NAME}-[0-9a-f]{{32}}),", _plan(df))))


def _plan(df: DataFrame) -> str:
    return str(df._jdf.queryExecution().analyzed().toString())


def _is_complete(observation: Observation, result: DataFrame) -> bool:
    """Whether an action has run: Spark's listeners hear of it a moment after its end."""
    future, bus = observation._jo.future(), result._sc._jsc.sc().listenerBus()
    end = time.monotonic() + PATIENCE
    while not future.isCompleted() and time.monotonic() < end:
        try:
            bus.waitUntilEmpty(100)
            break
        except Py4JError:
            continue  # its queue is not empty yet
    return bool(future.isCompleted())
