"""What the k nearest of one shard did in a batch, and how those of all shards become one answer.

format.py  the tables of a timeline, and how they are packed and split
writer.py  a shard's operator -> its timeline
reader.py  the merge of several timelines into changes
"""
