"""The papers' counts and bounds as functions: how many constructs there are, how many contain a
point, how many a range takes on average, and the bytes that follow.

Lengths are in units; L is a power of two. Checked by enumeration in the tests.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Counts(NamedTuple):
    """Constructs over a domain (N), and those that contain a point (C)."""

    defined: int
    covering: int


class Bounds(NamedTuple):
    """Bounds of the mean number of constructs that a range takes."""

    lower: float
    upper: float


def construct_counts(kind: str, r: int, L: int = 1) -> Counts:
    """Table 1 of the CEI paper, and section 3 of the CES paper with r as the side R."""
    k = _log(L)
    counts = {
        "ui": lambda: Counts(r, 1),
        "sci": lambda: Counts(r * L, L * (L + 1) // 2),
        "lci": lambda: Counts(r * (1 + k), 2 * L - 1),
        "cei": lambda: Counts(2 * r - r // L, k + 1),
        "ugc": lambda: Counts(r * r, 1),
        "cells": lambda: Counts((r // L) ** 2, 1),
        "vcs": lambda: Counts(r * r * (k + 1), (4 * L * L - 1) // 3),
        "ces": lambda: Counts((4 * r * r - r * r // 4**k) // 3, k + 1),
    }
    return counts[kind]()


def mean_pieces(kind: str, W: int, L: int = 1) -> Bounds:
    """Table 2: ranges of 1 … W units at every place, each length equally often; W ≥ L."""
    k = _log(L)
    beta = W // L
    if kind == "ui":
        return Bounds((1 + W) / 2, (1 + W) / 2)
    if kind == "lci":
        lower = beta + beta * L * k / 2 + beta * (beta - 1) * L / 2
        upper = beta + 1 + (beta + 1) * L * k / 2 + (beta + 1) * beta * L / 2
        return Bounds(lower / W, upper / W)
    if kind == "cei":
        ends = 1.5 * L * k + 1
        lower = beta * L**2 * k + (beta**2 - 2 * beta - 2) * L**2 / 2 + ends + 1.5 * beta * L
        upper = (beta + 1) * L**2 * k + (beta**2 - 3) * L**2 / 2 + ends + 1.5 * (beta + 1) * L
        return Bounds(lower / (W * L), upper / (W * L))
    raise KeyError(kind)


def storage(defined: int, ranges: int, pieces: float) -> float:
    """Bytes by the papers: four for a construct's pointer, eight for an id in its list."""
    return 4 * defined + 8 * ranges * pieces


def _log(L: int) -> int:
    k = int(math.log2(L))
    if 2**k != L:
        raise ValueError(f"L must be a power of two, not {L}")
    return k
