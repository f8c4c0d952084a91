"""Kernels without a way in from Python: only kernels refer to them, and a call is an error."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from watchline.kernels.compiled import inner, leaf, outer_leaf

ROOT = Path(__file__).parents[2]
INNER = ("inner", "leaf")
COMPILED = (*INNER, "kernel", "outer_leaf", "nb.njit", "overload", "intrinsic")


@outer_leaf
def doubled(numbers):  # type: ignore[no-untyped-def]
    for i in range(len(numbers)):
        numbers[i] = twice(numbers[i])


@leaf
def twice(number):  # type: ignore[no-untyped-def]
    return sum_of(number, number)


@inner
def sum_of(a, b):  # type: ignore[no-untyped-def]
    return a + b


def test_kernels_call_it_and_python_cannot() -> None:
    numbers = np.arange(4)
    doubled(numbers)
    assert numbers.tolist() == [0, 2, 4, 6]
    with pytest.raises(TypeError, match=r"test_kernels.twice is compiled for other kernels"):
        twice(3)
    with pytest.raises(TypeError, match=r"test_kernels.sum_of is compiled for other kernels"):
        sum_of(1, 2)


def test_without_a_compiler_they_are_plain_functions() -> None:
    script = "from tests.kernels.test_kernels import twice; print(twice(3))"
    without = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, cwd=ROOT, env=without, capture_output=True, text=True, check=True
    )
    assert done.stdout == "6\n"


def module_of(path: Path) -> str:
    inside = path.relative_to(ROOT / "src" if "src" in path.parts else ROOT)
    return ".".join(inside.with_suffix("").parts).removesuffix(".__init__")


def decorators(function: ast.FunctionDef) -> list[str]:
    return [ast.unparse(made).partition("(")[0] for made in function.decorator_list]


class References(ast.NodeVisitor):
    """The names, with the modules they come from, that a module's plain Python refers to."""

    def __init__(self, module: str, tree: ast.Module):
        self._module, self._names, self.found = module, dict[str, str](), set[str]()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    self._names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        self.visit(tree)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if not any(name in COMPILED for name in decorators(node)):
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self.found.add(self._names.get(node.id, f"{self._module}.{node.id}"))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name) and node.value.id in self._names:
            self.found.add(f"{self._names[node.value.id]}.{node.attr}")
        self.generic_visit(node)


@pytest.mark.slow
def test_no_python_code_refers_to_an_inner_kernel() -> None:
    kernels, found = set[str](), set[str]()
    for folder in ("src/watchline", "tests", "bench", "examples"):
        for path in (ROOT / folder).rglob("*.py"):
            if path == Path(__file__):
                continue
            module, tree = module_of(path), ast.parse(path.read_text(encoding="utf-8"))
            functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
            kernels |= {
                f"{module}.{node.name}"
                for node in functions
                if any(name in INNER for name in decorators(node))
            }
            found |= References(module, tree).found
    assert len(kernels) > 200
    assert kernels & found == set()
