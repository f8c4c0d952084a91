"""Which objects a tracker keeps, and what it gives up under a bound (SOLE, section 6).

object_retention.py  what a tracker does under a bound, after each batch
object_shedding.py   SHED OBJECTS: which objects are given up and taken back
query_shedding.py    SHED QUERIES: when queries become smaller and larger
given_up.py          the shadows of objects that were given up, and what becomes of them
shedding.py          the rows of shadows; the choice of objects to give up
shrinking.py         how small queries are made
forgotten.py         shadows for which there was no room
bounds.py            how many objects and shadows there may be
accuracy.py          how accurate answers are
footprint.py         the bytes of queries
"""
