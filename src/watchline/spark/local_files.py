"""How Spark writes checkpoints on this machine: without a process for each file, and whole.

Hadoop's file system of this machine writes a checksum file beside each file, and sets the
permissions of both by a process each. Spark's manager of checkpoint files goes through Hadoop's
`FileContext`, which starts eight more processes to ask whether names are links. That is ten for
each file, and five files for a micro-batch of two shards. `SETTINGS` choose the file system
without checksums, and `manager_settings` the manager that goes through `FileSystem`: one process
for each file.

What does not change: a file of a checkpoint gets its name by one rename once all of it is written,
so that a process that dies leaves the file or none. Neither way waits until the disk has it. What
is lost: a byte of Spark's files that the disk changes later is not noticed by Hadoop's checksums.
States of ours close with a checksum of their own (`rows/blob.py`).

All this is for files of this machine. An object store has no `FileContext` in any case. HDFS has
one, whose rename also replaces files: a checkpoint behind a URL keeps Spark's own choice.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession

from watchline.spark.store import local_path

_SYSTEM = "fs.file.impl"
_RAW = "org.apache.hadoop.fs.RawLocalFileSystem"
SETTINGS = {f"spark.hadoop.{_SYSTEM}": _RAW}
MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_PACKAGE = "org/apache/spark/sql/execution/streaming"
_NAME = "FileSystemBasedCheckpointFileManager"


@cache
def manager_settings() -> dict[str, str]:
    """The setting of the manager; none where this Spark has no such class, whose package differs
    between releases."""
    for jar in Path(_find_spark_home(), "jars").glob("spark-sql_*.jar"):
        with suppress(OSError, BadZipFile), ZipFile(jar) as archive:
            for package in (f"{_PACKAGE}/checkpointing", _PACKAGE):
                if f"{package}/{_NAME}.class" in archive.NameToInfo:
                    return {MANAGER: f"{package}/{_NAME}".replace("/", ".")}
    return {}


def prepare_checkpoint(spark: SparkSession, checkpoint: str, is_chosen: bool) -> None:
    """Make the session and a checkpoint fit each other, before its query starts.

    A checkpoint behind a URL gets Spark's own manager, unless the user has chosen one. Of a local
    one the checksum files go that Hadoop left: where a file is written anew without a checksum, the
    old one would be wrong, and nobody could return to the file system that compares them.
    """
    folder = local_path(checkpoint)
    if folder is None:
        if not is_chosen:
            spark.conf.unset(MANAGER)
        return
    hadoop: Any = spark._jsparkSession.sessionState().newHadoopConf()
    if hadoop.get(_SYSTEM) == _RAW:
        for name in Path(folder).rglob(".*.crc"):
            with suppress(FileNotFoundError):
                os.unlink(name)
