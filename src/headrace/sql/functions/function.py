"""What the table of functions has for each function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.sql.expressions import Call, Expression, Literal
from headrace.sql.types import SqlType


@dataclass(frozen=True)
class Signature:
    """The types of a call: what its arguments are converted to, and what it gives."""

    arguments: tuple[SqlType, ...]
    result: SqlType


TypeRule = Callable[[Sequence[Expression], Sequence[str]], Signature | None]
"""Gives the signature for arguments, which may be constants, and options; None: not accepted."""


@dataclass(frozen=True)
class Session:
    """What an expression is computed under: constant for a run of a task.

    ``seed``: where the numbers of RAND and UUID come from; the same for a micro-batch that is
    replayed, another one for each task and micro-batch. ``first_row``: how many rows the task has
    computed before this batch with the same seed, so that each row gets numbers of its own.
    """

    time_zone: str = "UTC"
    now_ms: int = 0
    """The time of day of the micro-batch (ms since the epoch)."""
    seed: int = 0
    first_row: int = 0
    watermark_ms: int | None = None
    """The watermark (ms); None before the first one."""


Kernel = Callable[[Call, Sequence[Any], Session], Any]
"""Computes a call on Arrow arrays, or scalars for constants; the result has the call's type.

If all inputs are scalars, the result is one. A function that is not deterministic gets the rows'
numbers (an int64 array) before its arguments.
"""

CanFail = bool | Callable[[Call], bool]
"""Whether a kernel raises for some values of its arguments."""


@dataclass(frozen=True)
class Function:
    """A row of the table.

    ``name``: in capitals, or the sign of an operator. ``forms``: how it is written, and ``about``:
    what it gives, for the reference. ``examples``: expressions over constants, each with what Flink
    gives as text. ``can_fail``: whether its kernel raises for some values, so that it must not be
    computed for rows that a CASE or a condition excludes. ``deterministic``: equal arguments give
    equal results. ``of_session``: the result depends on the session; ``of_watermark``: on its
    watermark.
    """

    name: str
    types: TypeRule
    kernel: Kernel
    forms: tuple[str, ...]
    about: str
    examples: tuple[tuple[str, str | None], ...] = ()
    can_fail: CanFail = False
    deterministic: bool = True
    of_session: bool = False
    of_watermark: bool = False

    def may_fail(self, call: Call) -> bool:
        """Return whether a call may raise."""
        return self.can_fail if isinstance(self.can_fail, bool) else self.can_fail(call)


def options_vary(call: Call) -> bool:
    """Return whether an argument after the first differs by row: for ``can_fail``."""
    return any(not isinstance(each, Literal) for each in call.arguments[1:])


def table_row(
    name: str,
    types: TypeRule,
    kernel: Kernel,
    form: str,
    about: str,
    *examples: tuple[str, str | None],
    can_fail: CanFail = False,
    of_session: bool = False,
) -> Function:
    """Return a row of the table; `` | `` stands between several forms."""
    forms = tuple(form.split(" | "))
    return Function(name, types, kernel, forms, about, examples, can_fail, of_session=of_session)
