"""Which sources a compiled function is made of: what it calls is compiled into it.

Numba keeps what it has compiled until the file of the function changes. A function that it calls
may stand in another file, and so may that one's; an answer of the old code would be a silent
mistake. So a function is kept for as long as none of these files changes.
"""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache

_PACKAGE = "watchline"
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_IMPORT = re.compile(rf"^from ({_PACKAGE}[.\w]*) import", re.MULTILINE)
_COMPILES = re.compile(r"^(?:import|from) (?:numba|watchline\.kernels\.compiled)\b", re.MULTILINE)


@cache
def digest_of(file: str) -> str:
    """A digest of the text of this file, and of all files of the package with compiled functions
    that it imports from, directly or not."""
    own = os.path.abspath(file)
    found = {own}
    asked = list(_source(own)[0])
    while asked:
        other = asked.pop()
        if other not in found:
            found.add(other)
            asked += _source(other)[0]
    digests = sorted(_source(path)[1] for path in found if path != own)
    made = hashlib.sha256(_text(own).encode())
    made.update("".join(digests).encode())
    return made.hexdigest()


@cache
def _source(path: str) -> tuple[tuple[str, ...], str]:
    """The files of the package that a file imports from, and a digest of its text, which is empty
    if nothing is compiled there."""
    text = _text(path)
    files = dict.fromkeys(map(_file_of, _IMPORT.findall(text)))
    digest = hashlib.sha256(text.encode()).hexdigest() if _COMPILES.search(text) else ""
    return tuple(file for file in files if os.path.exists(file)), digest


def _file_of(module: str) -> str:
    place = os.path.join(_ROOT, *module.split(".")[1:])
    return os.path.join(place, "__init__.py") if os.path.isdir(place) else f"{place}.py"


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()
