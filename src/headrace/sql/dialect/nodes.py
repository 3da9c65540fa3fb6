"""Nodes of the tree that sqlglot has no class for. Only the dialect and its readers import this."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator


class TypeName(exp.Expression):
    """A type; ``this`` is the ``SqlType``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class TypedLiteral(exp.Cast):
    """A constant such as ``DATE '2024-01-31'``: ``this`` its text, ``to`` its ``TypeName``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "to": True}


class ValueLiteral(exp.Expression, exp.Condition):
    """A constant of a program: ``this`` is its value for Arrow, ``to`` its ``TypeName``.

    Arrays, rows and maps are tuples: of elements, of fields, of pairs of key and value.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "to": True}


class TableArgument(exp.Expression):
    """``TABLE t PARTITION BY a ORDER BY b`` as an argument; ``this``: a Table or a Subquery."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "partition_by": False, "order": False}


class Descriptor(exp.Expression):
    """``DESCRIPTOR(a, b)``: Identifiers."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class Clause(exp.Expression):
    """Words with a value inside a call, such as ``RETURNING INT``; ``this``: the words."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": False}


class JoinTree(exp.Expression):
    """``this`` with ``joins`` in parentheses: a side of a join."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "joins": True}


class RowPattern(exp.Expression):
    """``this MATCH_RECOGNIZE (text)``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "text": True, "alias": False}


class PlanTable(exp.Expression):
    """A relation of FROM that is resolved already; ``this``: its ``Rel``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "alias": False}


CONCATENATES = "concatenates"
"""Marks, in ``meta``, a ``+`` that also concatenates texts: that of the Table API."""


class WindowBorder(exp.Expression):
    """A border of the window that ``this`` (a Column) names; ``border``: such as START."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "border": True}


class FunctionCall(exp.Expression, exp.Condition):
    """A call of a function of a user; ``this``: its ``PythonFunction``.

    ``row_names``: the arguments are given as one row, with these names (a tuple).
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": False, "row_names": False}


def _typed_literal(generator: Generator, node: exp.Expr) -> str:
    return f"{generator.sql(node, 'to')} {generator.sql(node, 'this')}"


def _function_call(generator: Generator, node: exp.Expr) -> str:
    return f"{node.this.name}({generator.expressions(node, flat=True)})"


# Errors show trees by ``tree.sql()``; sqlglot's own generator raises for classes it does not know.
Generator.TRANSFORMS.update(
    {
        FunctionCall: _function_call,
        TypeName: lambda generator, node: str(node.this),
        TypedLiteral: _typed_literal,
        ValueLiteral: lambda generator, node: str(node.args.get("this")),
    }
)
