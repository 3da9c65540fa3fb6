"""``Expression``: what is computed from the columns of a table."""

from __future__ import annotations

from typing import Any, Generic, Self, TypeVar

from sqlglot import exp

from headrace.table._expressions.aggregates import AggregateFunctions
from headrace.table._expressions.base import ExpressionTree
from headrace.table._expressions.collections import CollectionFunctions
from headrace.table._expressions.json import JsonFunctions
from headrace.table._expressions.numbers import NumberFunctions
from headrace.table._expressions.operators import Operators
from headrace.table._expressions.summary import summary
from headrace.table._expressions.symbols import (
    JsonExistsOnError,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)
from headrace.table._expressions.temporal import TemporalFunctions
from headrace.table._expressions.texts import TextFunctions
from headrace.table._expressions.trees import tree_of

__all__ = [
    "Expression",
    "JsonExistsOnError",
    "JsonOnNull",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
    "TimeIntervalUnit",
    "TimePointUnit",
]

T = TypeVar("T")


class _TextForms(ExpressionTree):
    """Functions whose arguments are in another order than in SQL."""

    def log(self, base: Any = None) -> Self:
        """Return the logarithm; to base e unless another is given."""
        return self._call("LOG") if base is None else self._make(_call("LOG", base, self))

    def trim(self, character: Any = None) -> Self:
        """Return the text without characters at both ends; blanks, unless others are given."""
        return self._trim("BOTH", character)

    def trim_leading(self, character: Any = None) -> Self:
        """Return the text without characters at its start."""
        return self._trim("LEADING", character)

    def trim_trailing(self, character: Any = None) -> Self:
        """Return the text without characters at its end."""
        return self._trim("TRAILING", character)

    def _trim(self, side: str, character: Any) -> Self:
        characters = " " if character is None else character
        parts = [exp.Var(this=side), tree_of(characters), tree_of(self)]
        return self._make(exp.Anonymous(this="TRIM", expressions=parts))

    def position(self, haystack: Any = None) -> Self:
        """Return where this text is first in another one, from 1; 0: nowhere."""
        return self._call("POSITION", haystack)

    def locate(self, s: Any, pos: Any = None) -> Self:
        """Return where this text is first in another one, at or after a position."""
        return self._call("LOCATE", s, pos)

    def overlay(self, new_string: Any, starting: Any, length: Any = None) -> Self:
        """Return the text with characters from a position replaced by another text."""
        return self._call("OVERLAY", new_string, starting, length)


def _call(name: str, *arguments: Any) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[tree_of(each) for each in arguments])


class Expression(
    Operators,
    NumberFunctions,
    TextFunctions,
    _TextForms,
    CollectionFunctions,
    AggregateFunctions,
    TemporalFunctions,
    JsonFunctions,
    Generic[T],
):
    """A value for each row of a table: a column, a constant, or a function of others."""

    def __init__(self, tree: exp.Expr) -> None:
        self._tree = tree

    def __str__(self) -> str:
        return summary(self._tree)
