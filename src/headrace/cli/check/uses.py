"""The names of PyFlink's that a program uses, with file and line, found in its syntax tree.

Followed are imports, aliases, the program's own modules, and, as far as a simple look shows it, of
which class an object is: from calls, annotations, and the parameters of the functions that a class
of PyFlink's asks for. Of an object that is not known, only methods with a name that is PyFlink's
alone count.
"""

from __future__ import annotations

from pathlib import Path

from headrace.cli.check.assignments import Assignments
from headrace.cli.check.expressions import Expressions
from headrace.cli.check.visitor import ProgramReader, Use

__all__ = ["Use", "uses_of"]


def uses_of(program: Path) -> list[Use]:
    """The uses of a program and its own modules, in order.

    Raises:
        SyntaxError: a file is no Python.
    """
    reader = ProgramReader(program.resolve().parent, _Visitor)
    reader.names_of(program.resolve())
    return sorted(set(reader.uses))


class _Visitor(Assignments, Expressions):
    """The walk through one file, in full."""
