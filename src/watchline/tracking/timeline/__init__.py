"""What the k nearest of one shard did in a batch, and how those of all shards become one answer.

format.py  the tables of a timeline, and how they are packed and split
writer.py  a shard's operator -> its timeline
sent.py    what a shard has sent, and whether the merge needs more
reader.py  the merge of several timelines into changes
merged.py  the merge as it goes on from batch to batch, and its state
candidates.py  the candidates of all shards between batches
"""
