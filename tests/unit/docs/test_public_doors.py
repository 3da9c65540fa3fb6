"""What is public is in ``__all__``; all else in the public packages lies under an underscore."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from scripts.reference import SOURCE, declared, public_modules

INTERNAL = ("graph", "operators", "planner", "runners", "runtime")


def names_of(statement: ast.stmt) -> list[str]:
    """The names that a statement of a module defines; type variables are no names of its own."""
    if isinstance(statement, ast.ClassDef | ast.FunctionDef):
        return [statement.name]
    if isinstance(statement, ast.AnnAssign):
        targets: list[ast.expr] = [statement.target]
    elif isinstance(statement, ast.Assign):
        value = statement.value
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "TypeVar":
            return []
        targets = statement.targets
    else:
        return []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def undeclared(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    names = {name for statement in tree.body for name in names_of(statement)}
    return {name for name in names if not name.startswith("_")} - set(declared(path))


def test_what_is_not_public_has_an_underscore() -> None:
    found = {str(path.relative_to(SOURCE)): undeclared(path) for path in public_modules()}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize("package", INTERNAL)
def test_engine_packages_say_that_they_are_internal(package: str) -> None:
    tree = ast.parse((SOURCE / package / "__init__.py").read_text())
    assert (ast.get_docstring(tree) or "").startswith("Internal. ")
