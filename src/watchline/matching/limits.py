"""From how many boxes on what is worth having. They decide only speed, never answers."""

# Sets that would make more boxes than this of a conjunction are checked on candidates.
MAX_KEY_VALUES = 64
# A run of more boxes than this is worth an index: where every row meets it (for a spatial join,
# which does more with each row, some more), or below a key.
MANY, MANY_JOINED, MANY_BELOW_KEY = 64, 384, 1_024
# A run of more boxes that are each all of their query is worth border lists.
MANY_WHOLE = 128
# Attributes for which there are indexes that want a number in each.
MAX_AXES = 2
# Parts of their own below one key; each costs every row a search.
MAX_OWN = 16
# Where a value of a key has more regions than this below it, regions drive, and the key is compared
# on what their index finds.
MANY_REGIONS_BELOW_KEY = 16
