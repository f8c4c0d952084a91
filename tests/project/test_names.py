"""One name has one meaning, is a role and no metaphor, and no function has many parameters."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "watchline"
PARAMETERS = 10
METAPHORS = {
    "flip", "flips", "found", "happened", "mover", "movers", "story", "stories", "told", "watcher",
    "watchers",
}  # fmt: skip

# Names of modules and packages that stand more than once, and the role they have everywhere.
SHARED_MODULES = {
    "base": "what all classes of a package check and keep alike",
    "condition": "the conditions of WHERE: their model, and the parser that makes it",
    "driver": "builds the Spark plan of an operator, on the driver",
    "index": "finds boxes: by a point, or by the borders that a move crosses",
    "joining": "window joins: the engine, and the Spark operator around it",
    "matching": "matches: the engine, and the Spark operator around it",
    "papers": "rivals of the papers, loaded when they are asked for",
    "plan": "how queries are searched",
    "proximity": "queries that move and nearest neighbours: the operator, and the tracker's use",
    "regions": "regions of the plane: an index of those that stay, and those that move",
    "retention": "which objects are kept: what a stream declares, and how a tracker does it",
    "route": "sends rows to shards, before the shuffle",
    "shard": "runs the engine of a shard, after the shuffle",
    "tracking": "changes: the engine, and the Spark operator around it",
}
# The same for classes.
SHARED_CLASSES = {
    "Inbox": "what the shuffle brought to a shard",
    "Plan": "how queries are searched",
}
# What users call has as many keywords as it has options.
KEYWORDS = {"parameters simulate.motion.traffic"}


def modules() -> Iterator[Path]:
    yield from sorted(SOURCE.rglob("*.py"))


def dotted(path: Path) -> str:
    inside = path.relative_to(SOURCE).with_suffix("")
    return ".".join(part for part in inside.parts if part != "__init__") or "watchline"


def definitions() -> Iterator[tuple[str, ast.stmt]]:
    """All classes, functions and annotated fields, with the module that has them."""
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield dotted(path), node
            elif isinstance(node, ast.ClassDef):
                yield dotted(path), node
                for field in node.body:
                    if isinstance(field, ast.AnnAssign):
                        yield dotted(path), field


def check(rule: dict[str, object]) -> None:
    """Nothing breaks the rule."""
    assert not rule, "\n".join(f"{name}: {where}" for name, where in sorted(rule.items()))


def repeated_modules() -> dict[str, object]:
    places = defaultdict(set)
    for path in modules():
        name = path.parent.name if path.stem == "__init__" else path.stem
        # The main module of a package may have the name of the package.
        if path.stem not in ("__main__", path.parent.name):
            places[name].add(dotted(path))
    return {
        f"module {name}": sorted(where)
        for name, where in places.items()
        if len(where) > 1 and name not in SHARED_MODULES
    }


def repeated_classes() -> dict[str, object]:
    places = defaultdict(list)
    for module, node in definitions():
        if isinstance(node, ast.ClassDef):
            places[node.name].append(module)
    return {
        f"class {name}": where
        for name, where in places.items()
        if len(where) > 1 and name not in SHARED_CLASSES
    }


def words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}


def metaphors() -> dict[str, object]:
    """Modules, classes, and public functions and fields."""
    named: dict[str, object] = {
        f"module {dotted(path)}": path.name for path in modules() if words(path.stem) & METAPHORS
    }
    for module, node in definitions():
        if isinstance(node, ast.AnnAssign):
            kind, name = "field", ast.unparse(node.target)
        elif isinstance(node, ast.ClassDef):
            kind, name = "class", node.name
        else:
            assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            kind, name = "function", node.name
        if words(name) & METAPHORS and (kind == "class" or not name.startswith("_")):
            named[f"{kind} {module}.{name}"] = f"line {node.lineno}"
    return named


def long_signatures() -> dict[str, object]:
    many: dict[str, object] = {}
    for module, node in definitions():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            count = len([*given.posonlyargs, *given.args, *given.kwonlyargs])
            count -= bool(given.args) and given.args[0].arg in ("self", "cls")
            name = f"parameters {module}.{node.name}"
            if count > PARAMETERS and name not in KEYWORDS:
                many[name] = f"{count} parameters"
    return many


def test_a_module_name_stands_once_or_has_one_role() -> None:
    check(repeated_modules())


def test_a_class_name_stands_once_or_has_one_role() -> None:
    check(repeated_classes())


def test_names_are_roles() -> None:
    check(metaphors())


def test_functions_have_at_most_ten_parameters() -> None:
    check(long_signatures())


def test_nothing_is_left_out_of_coverage_line_by_line() -> None:
    """What coverage cannot see is said once, in pyproject.toml."""
    marked = [path for path in modules() if "pragma: no cover" in path.read_text(encoding="utf-8")]
    assert not marked
