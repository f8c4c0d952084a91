"""Watchline on Spark: the only package that imports pyspark.

- settings.py: a SparkSession with the settings Watchline needs
- dataframe.py: DataFrame in, DataFrame of matches or changes out: the driver's part
- worker.py: what runs in Spark's Python workers, and what they keep between tasks
- routing.py, shard.py: for changes, before and after the shuffle; state.py: where the state lives
- versions.py: a stream of catalog versions, so that a registration starts a batch
- job.py: a configured job from source to sink
- sink.py: the committed files of Spark's file sink
- pin.py: one catalog version per micro-batch, the same on every replay
- daemon.py: the process that workers are forked from, with the kernels loaded
"""

from watchline.spark.dataframe import changes, matches
from watchline.spark.settings import session

__all__ = ["changes", "matches", "session"]
