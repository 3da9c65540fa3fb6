"""Which operators of the Table API a user-defined function replaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

pytest.importorskip("sqlglot")

from sqlglot import exp

from headrace.sql.dialect.nodes import FunctionCall
from headrace.sql.python_function import Implementation, PythonFunction
from headrace.sql.types import BIGINT
from headrace.table._expressions.trees import tree_of
from headrace.table._planning.overridden import with_functions_of_user
from headrace.table.expressions import col


def function(name: str, kind: Any = "scalar") -> PythonFunction:
    return PythonFunction(name, kind, None, BIGINT, True, cast(Implementation, None))


class Known:
    """Some system functions."""

    current_database = "d"

    def __init__(self, *functions: PythonFunction) -> None:
        self._by_name = {each.name: each for each in functions}

    def system_function(self, name: str) -> PythonFunction | None:
        return self._by_name.get(name)

    def function(self, path: Sequence[str]) -> PythonFunction | None:
        raise AssertionError("functions of catalogs replace no operator")


def calls(tree: exp.Expr) -> list[str]:
    return [each.this.name for each in tree.find_all(FunctionCall)]


def test_without_such_a_function_the_tree_stays() -> None:
    tree = tree_of(col("a") + col("b"))
    assert with_functions_of_user(tree, Known(function("f"))) is tree


def test_each_use_of_the_operator_is_a_call() -> None:
    tree = tree_of((col("a") + col("b")) * (col("a") + 1))
    made = with_functions_of_user(tree, Known(function("plus")))
    assert calls(made) == ["plus", "plus"]
    assert made.find(exp.Add) is None and made.find(exp.Mul) is not None


def test_arguments_are_the_sides_of_the_operator() -> None:
    made = with_functions_of_user(tree_of(-(col("a") - col("b"))), Known(function("minusPrefix")))
    (call,) = made.find_all(FunctionCall)
    assert len(call.expressions) == 1
    (call,) = with_functions_of_user(
        tree_of(col("a") > 2), Known(function("greaterThan"))
    ).find_all(FunctionCall)
    assert [type(each) for each in call.expressions] == [exp.Column, exp.Literal]


def test_only_scalar_functions_replace_operators() -> None:
    tree = tree_of(col("a") + col("b"))
    assert with_functions_of_user(tree, Known(function("plus", "aggregate"))) is tree
