"""Names in messages: lists of what was expected, and the known name nearest to a wrong one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def listing(words: Iterable[str]) -> str:
    """`A, B or C`."""
    words = list(words)
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def keyword(wrong: str, known: Iterable[str]) -> str:
    """`; did you mean EMIT?` where a word is nearly one of the language, else nothing."""
    near = get_close_matches(wrong[:100].upper(), [w.upper() for w in known], n=1, cutoff=0.75)
    return f"; did you mean {near[0]}?" if near else ""


def hint(wrong: str, known: Iterable[str]) -> str:
    """`; did you mean 'price'?`, or what there is, or nothing where that would not help."""
    known = list(known)
    same = [name for name in known if name.casefold() == wrong.casefold()]
    # Beyond some thousands of names the search costs more than the hint is worth.
    near = same or (get_close_matches(wrong[:100], known, n=1) if len(known) <= 5_000 else [])
    if near:
        return f"; did you mean {near[0]!r}?"
    if 0 < len(known) <= 12:
        return f"; there is {listing(map(repr, sorted(known)))}"
    return ""
