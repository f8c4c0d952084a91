"""A daemon for Spark's Python workers in which every state is large: it goes to files at once.

`"spark.python.daemon.module" = "tests.support.small_states"`
"""

from watchline.spark import daemon
from watchline.spark import shard_state as state

state.INLINE = 64

if __name__ == "__main__":
    daemon.serve()
