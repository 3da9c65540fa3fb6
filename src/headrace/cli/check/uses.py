"""Finds the names of PyFlink that a program uses, with file and line, in its syntax tree.

It follows imports, aliases and the program's own modules, and infers the classes of objects from
calls, annotations, and the parameters of methods that PyFlink's classes declare. For an unknown
object, only methods count whose name exists in PyFlink alone.
"""

from __future__ import annotations

from pathlib import Path

from headrace.cli.check.assignments import Assignments
from headrace.cli.check.expressions import Expressions
from headrace.cli.check.visitor import ProgramReader, Use

__all__ = ["Use", "uses_of"]


def uses_of(program: Path) -> list[Use]:
    """Return the uses in a program and its own modules, in order.

    Raises:
        SyntaxError: a file is not valid Python.
    """
    reader = ProgramReader(program.resolve().parent, _Visitor)
    reader.names_of(program.resolve())
    return sorted(set(reader.uses))


class _Visitor(Assignments, Expressions):
    """The complete visitor of a file."""
