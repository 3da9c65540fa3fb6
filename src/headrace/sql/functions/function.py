"""What the table of functions has for each function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.sql.expressions import Call, Expression
from headrace.sql.types import SqlType


@dataclass(frozen=True)
class Signature:
    """The types of a call: what its arguments are converted to, and what it gives."""

    arguments: tuple[SqlType, ...]
    result: SqlType


TypeRule = Callable[[Sequence[Expression]], Signature | None]
"""Gives the signature for arguments, which may be constants; None: it does not take them."""


@dataclass(frozen=True)
class Session:
    """What an expression is computed under: constant for a run of a task."""

    time_zone: str = "UTC"
    now_ms: int = 0
    """The time of day of the micro-batch (ms since the epoch)."""


Kernel = Callable[[Call, Sequence[Any], Session], Any]
"""Computes a call on Arrow arrays, or scalars for constants; the result has the call's type."""


@dataclass(frozen=True)
class Function:
    """A row of the table.

    ``name``: in capitals, or the sign of an operator. ``forms``: how it is written, and ``about``:
    what it gives, for the reference. ``examples``: expressions over constants, each with what Flink
    gives as text. ``can_fail``: whether its kernel raises for some values, so that it must not be
    computed for rows that a CASE or a condition excludes. ``deterministic``: equal arguments give
    equal results.
    """

    name: str
    types: TypeRule
    kernel: Kernel
    forms: tuple[str, ...]
    about: str
    examples: tuple[tuple[str, str | None], ...] = ()
    can_fail: bool = False
    deterministic: bool = True
