"""`wl.session()`: a SparkSession with the settings Watchline needs, or one clear reason why not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession

from watchline.errors import EngineError, InvalidQuery
from watchline.names import hint
from watchline.spark.gateway import launch

MIN_JAVA = 17
_INSTALL = "install one with: apt-get install -y openjdk-17-jre-headless"
_SETTINGS = {
    # Arrow batches large enough that a kernel call is worth its overhead.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # Workers are forked from a process that has the kernels loaded.
    "spark.python.daemon.module": "watchline.spark.daemon",
    "spark.sql.session.timeZone": "UTC",
    # The state of changes: small rows, of which the last few batches are enough to go on from.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.minBatchesToRetain": "10",
    # Else a crash while the first batch is planned leaves a file that no restart gets over.
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
    # Times as numbers of microseconds: the older form ends in the year 2262 for most readers.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.ui.showConsoleProgress": "false",
}
_LOG = os.path.join(os.path.dirname(__file__), "log4j2.properties")


def _plain_files() -> str:
    """Spark's class for files of a checkpoint that starts no process to read a link.

    The one that Spark takes for a local disk starts ten for each file: docs/decisions/0039.
    """
    inside = "" if pyspark.__version__.startswith("4.0.") else "checkpointing."
    name = f"{inside}FileSystemBasedCheckpointFileManager"
    return f"org.apache.spark.sql.execution.streaming.{name}"


_FILES = "spark.sql.streaming.checkpointFileManagerClass"
_LOCAL = {
    _FILES: _plain_files(),
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
    "spark.ui.enabled": "false",
    "spark.driver.memory": "2g",
}
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"


def session(
    master: str | None = None,
    app_name: str = "watchline",
    shards: int | None = None,
    **conf: str,
) -> SparkSession:
    """The SparkSession to use with Watchline.

    `master` is `local[*]` unless spark-submit or you say otherwise; further settings are given as
    `**{"spark.some.key": "value"}` and win over ours. `shards` is how many `wl.changes` and
    `wl.joins` have in this session: it sets `spark.sql.shuffle.partitions`.
    """
    check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    own = {} if shards is None else {"spark.sql.shuffle.partitions": str(shards)}
    settings = {"spark.app.name": app_name} | _settings(master, own | conf)
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    if _submitted() or SparkContext._active_spark_context is not None:
        made = builder.getOrCreate()
    else:
        made = _started(builder, settings)
    made.sparkContext.setLogLevel("ERROR")
    if made.conf.get(_FILES, "") == _plain_files():
        _without_hadoops_checksums(made)
    return made


def _without_hadoops_checksums(session: SparkSession) -> None:
    """Let local files have no `.crc` file beside them.

    The two are renamed one after the other, so that a kill between would leave a file that looks
    damaged; and each costs a process.
    """
    context = session.sparkContext
    configuration = context._jsc.hadoopConfiguration()
    files = context._jvm.org.apache.hadoop.fs.FileSystem.getLocal(configuration)
    files.setWriteChecksum(False)


def _submitted() -> bool:
    """Whether spark-submit started the JVM and chose the master."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _settings(master: str | None, conf: Mapping[str, Any]) -> dict[str, str]:
    """Ours, and a user's over them, as texts."""
    for key in conf:
        if not key.startswith("spark."):
            near = hint(key, ("master", "app_name", "shards"))
            raise InvalidQuery(f"a setting of Spark begins with 'spark.', unlike {key!r}{near}")
    given = {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in conf.items()}
    master = master or given.get("spark.master") or (None if _submitted() else "local[*]")
    if master is None:
        return _SETTINGS | given
    if not master.startswith("local"):
        return _SETTINGS | {"spark.master": master} | given
    settings = _SETTINGS | _LOCAL | {"spark.master": master} | given
    options = settings.get(_JAVA_OPTIONS, "")
    if "-Dlog4j" not in options:
        # Before a user's own options, so that those win.
        options = f"-Dlog4j2.configurationFile=file:{_LOG} {options}".strip()
    return settings | {_JAVA_OPTIONS: options}


def _started(builder: SparkSession.Builder, settings: dict[str, str]) -> SparkSession:
    """The session of a JVM that we start."""
    errors = None
    if SparkContext._gateway is None:
        gateway, errors = launch(settings)
        SparkContext._ensure_initialized(gateway=gateway)
    made = builder.getOrCreate()
    if errors is not None:
        errors.starting = False
    return made


def check_java() -> None:
    """Refuse early, in a sentence, what Spark would refuse late, in a page."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if not java or not os.path.exists(java):
        raise EngineError(f"Spark needs Java {MIN_JAVA} or newer and there is none: {_INSTALL}")
    asked = subprocess.run(
        # In a session of its own: a signal to our group would leave it without an answer.
        [java, "-version"], capture_output=True, text=True, check=False, start_new_session=True
    )  # fmt: skip
    shown = asked.stderr
    found = re.search(r'version "(?:1\.)?(\d+)', shown)
    if not found or int(found.group(1)) < MIN_JAVA:
        version = found.group(1) if found else "of an unknown version"
        raise EngineError(
            f"Spark needs Java {MIN_JAVA} or newer; {java} is Java {version}: {_INSTALL}"
        )
