"""A deterministic simulation of `wl.changes` on Spark, without Spark: the judge of I1 to I3.

One history is some rows, some catalog versions and some faults. The product's own router, shard
task, state files, version pins and merge process it; Spark's part (logs, shuffle, state store,
workers, sink) is simulated, so that a scheduler decides when processes die and what their writes
leave behind. A seed decides everything, so a failing history replays exactly.

Not simulated are joins, retention, streams that are declared anew, and object stores, whose writes
never tear.

queries.py   the pool of queries, in SQL for the product and as trees for the oracle
faults.py    the moments of a batch, and what may strike there
history.py   a seed -> rows, cuts, versions, faults
scheduler.py which faults and catalog versions are due; the trace
catalog.py   a catalog in memory that costs nothing to commit to
disk.py      stores whose writes may tear, as those of a local folder do
cluster.py   workers, and the tasks that run on them
job.py       the micro-batches of a streaming query: logs, shuffles, sink, recovery
judge.py     the oracle's ledger against the sink
tally.py     many histories in one process, with its time
__main__.py  `python -m tests.support.simulation --seed 7 --trace`
"""
