"""`wl.changes` on Spark.

What `wl.joins` does alike is in `shard_job`, `routing` and `shard_task`.

driver.py  on the driver: checks, columns, and the second shuffle
route.py   before the first shuffle: rows go to the shard of their object
shard.py   after it: a shard's inbox, its tracker, and the parcels it sends
merge.py   after the second shuffle: the timelines of all shards become changes of one answer
merge_state.py   what the merge keeps between batches
"""
