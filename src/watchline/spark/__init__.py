"""Watchline on Spark: the only package that imports pyspark.

- settings.py: a SparkSession with the settings Watchline needs
- dataframe.py: DataFrame in, DataFrame of matches out: the driver's part
- worker.py: what runs in Spark's Python workers, and what they keep between tasks
- job.py: a configured job from source to sink
- sink.py: the committed files of Spark's file sink
- pin.py: one catalog version per micro-batch, the same on every replay
- daemon.py: the process that workers are forked from, with the kernels loaded
"""

from watchline.spark.dataframe import matches
from watchline.spark.settings import session

__all__ = ["matches", "session"]
