"""`wl.joins` on Spark.

What `wl.changes` does alike is in `shard_job`, `routing` and `shard_task`.

driver.py  on the driver: checks, and columns
route.py   before the shuffle: the rows of a stream go to every shard
shard.py   after it: a shard's inbox, and its joiner
"""
