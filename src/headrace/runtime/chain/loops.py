"""Operators in a row as one generated function: no call between them, only the user's.

An operator that can be put into a row gives its part as a ``Step``: lines of Python over the
variables ``value`` and ``timestamp``. From the steps of a row two functions are made: one that
takes a record, and one that takes a chunk of them in a loop. On job (a) of the benchmarks the loop
halves what the chain behind a source costs (docs/adr/0010-cost-per-record.md).
"""

from __future__ import annotations

import linecache
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Push = Callable[[Any, int | None], None]
PushAll = Callable[[list[Any], "Sequence[int | None] | None"], None]

GENERATED = "<headrace: "
"""How the file names of generated functions begin."""

_NAME = re.compile(r"\$(\w+)")


@dataclass(frozen=True)
class Step:
    """One operator's part of a generated function.

    ``lines`` work on ``value`` and ``timestamp``; the steps that follow stand in the block that
    the last line opens, or else at its depth, and ``after`` behind them. A word after ``$`` is a
    name of the step's own: a variable, or one of ``names`` with what it stands for. ``before`` and
    ``behind`` stand around the loop, so a step that has them can only be part of one.
    ``passes_on``: the record that goes on, if any, is the one that came. ``weighing`` stand after
    ``lines`` where one record may become many within a call of the function: they see to it that
    not too much waits. In a loop over a chunk that is looked at after the chunk.
    """

    lines: tuple[str, ...]
    names: Mapping[str, Any] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    passes_on: bool = False
    weighing: tuple[str, ...] = ()

    @property
    def fans_out(self) -> bool:
        """True when one record may become several within the function."""
        return any(line.lstrip().startswith("for ") for line in self.lines)

    @property
    def only_in_loops(self) -> bool:
        """True when a single record is not enough to go by."""
        return bool(self.before or self.behind)


def pushing(steps: Sequence[Step], label: str) -> Push:
    """A function that takes one record through the steps."""
    made: Push = _compiled("def push(value, timestamp):", [*map(_weighed, steps)], 1, label)
    return made


def pushing_all(steps: Sequence[Step], label: str) -> PushAll:
    """A function that takes records, and their timestamps or None, through the steps."""
    if any(step.fans_out for step in steps):
        steps = [*map(_weighed, steps)]
    with_time: PushAll = _compiled(_LOOP_WITH_TIMESTAMPS, steps, 2, label)
    without: Callable[[list[Any]], None] = _compiled(_LOOP_WITHOUT, steps, 2, label)

    def push_all(values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        if timestamps is None:
            without(values)
        else:
            with_time(values, timestamps)

    return push_all


def _weighed(step: Step) -> Step:
    return replace(step, lines=(*step.lines, *step.weighing), weighing=())


def calling(push: Push) -> Step:
    """A step that hands the record to a function: the end of a row."""
    return Step(("$push(value, timestamp)",), {"push": push})


_LOOP_WITH_TIMESTAMPS = """\
def push(values, timestamps):
    BEFORE
    for value, timestamp in zip(values, timestamps, strict=True):"""
_LOOP_WITHOUT = """\
def push(values):
    BEFORE
    for value in values:
        timestamp = None"""


def _compiled(head: str, steps: Sequence[Step], depth: int, label: str) -> Any:
    names: dict[str, Any] = {}
    before: list[str] = []
    body: list[str] = []
    after: list[str] = []
    behind: list[str] = []
    for number, step in enumerate(steps):
        names.update({f"{name}_{number}": value for name, value in step.names.items()})
        body += _own(step.lines, number, depth)
        depth += _depth(step.lines[-1]) + step.lines[-1].endswith(":")
        after = [*_own(step.after, number, depth), *after]
        before += _own(step.before, number, 1)
        behind += _own(step.behind, number, 1)
    text = head.replace("    BEFORE", "\n".join(before or ["    pass"]))
    source = "\n".join([text, *body, *after, *behind]) + "\n"
    # By its text, so that a job's next run in this process leaves nothing more behind.
    file = f"{GENERATED}{label!r} #{zlib.crc32(source.encode()):08x}>"
    # Tracebacks and debuggers find the text here.
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), names)
    return names["push"]


def _own(lines: Sequence[str], number: int, depth: int) -> list[str]:
    return ["    " * depth + _NAME.sub(rf"\g<1>_{number}", line) for line in lines]


def _depth(line: str) -> int:
    return (len(line) - len(line.lstrip())) // 4
