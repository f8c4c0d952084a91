"""Indexes of the papers' rivals, and what only the papers need: loaded when they are asked for.

anchored.py  `sci`, `lci` and `vcs`: constructs of all sizes at every cell
islist.py    `islist`: the interval skip list; marker_lists.py has its lists
ibs.py       `ibs`: an interval binary search tree for each dimension
counting.py  `counting`: ranges counted by their borders
twophase.py  `twophase`: the index of each dimension, and a merge
merging.py   hits of several dimensions, merged by counting
rebuilt.py   arrays that are built anew, and a scan of what came late
formulas.py  the papers' counts and bounds, which tests check by enumeration
"""
