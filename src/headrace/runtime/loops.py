"""Operators in a row as one generated function: no call between them, only the user's.

An operator that can be put into a row gives its part as a ``Step``: lines of Python over the
variables ``value`` and ``timestamp``. From the steps of a row two functions are made: one that
takes a record, and one that takes a chunk of them in a loop. On job (a) of the benchmarks the loop
halves what the chain after a source costs (docs/adr/0010-cost-per-record.md).

Python limits how deep code may be nested, so a chain cuts a very long row into several functions,
each of which calls the next (``Nesting.fits``).
"""

from __future__ import annotations

import linecache
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from types import CodeType
from typing import Any

Push = Callable[[Any, int | None], None]
PushAll = Callable[[list[Any], "Sequence[int | None] | None"], None]
ProcessBlock = Callable[[list[Any], list[Any], "list[int | None] | None"], None]
"""Takes keys (none of a broadcast input), values and timestamps (ms) of records, in order."""

GENERATED_PREFIX = "<headrace: "
"""How the file names of generated functions begin."""

_STEP_NAME = re.compile(r"\$(\w+)")


@dataclass(frozen=True)
class Step:
    """The part of one operator in a generated function.

    ``lines``: source lines that use the variables ``value`` and ``timestamp``. The following steps
    are inserted after the last line: in the block that it opens, otherwise at its depth;
    ``cleanup`` comes after them, at the same depth. A word after ``$`` is a name of this step only:
    a variable, or a key of ``names``, which has the objects. ``prologue`` and ``epilogue`` come
    before and after the loop over a chunk; a step that has them can only be used in a loop.
    ``forwards_record``: the step emits the record that it gets, or nothing. ``size_check``: lines
    after ``lines`` that limit the buffered output. They are needed if one record may become several
    within a call: in a loop over a chunk, only after a step that fans out; otherwise the task
    checks the size after each chunk.
    """

    lines: tuple[str, ...]
    names: Mapping[str, Any] = field(default_factory=dict)
    cleanup: tuple[str, ...] = ()
    prologue: tuple[str, ...] = ()
    epilogue: tuple[str, ...] = ()
    forwards_record: bool = False
    size_check: tuple[str, ...] = ()

    @property
    def fans_out(self) -> bool:
        """Whether one record may become several within the function."""
        return any(line.lstrip().startswith("for ") for line in self.lines)

    @property
    def one_to_one(self) -> bool:
        """Whether every record is passed on once: the following steps are not in a block."""
        return _levels_opened(self.lines) == 0

    @property
    def loop_only(self) -> bool:
        """Whether the step can only be used in a loop over a chunk, not for a single record."""
        return bool(self.prologue or self.epilogue)

    @property
    def nesting(self) -> Nesting:
        """By how much deeper the following steps are."""
        levels = _levels_opened(self.lines)
        # The lines that lead to the last one, and stand around it, are at depths that only rise.
        around: dict[int, str] = {}
        for line in self.lines:
            depth = _depth_of(line)
            around = {d: outer for d, outer in around.items() if d < depth}
            around[depth] = line.lstrip()
        opened = [line for depth, line in around.items() if depth < levels]
        return Nesting(levels, sum(line.startswith(_BLOCKS) for line in opened))


@dataclass(frozen=True)
class Nesting:
    """A depth in generated code: ``levels`` of indentation, of which ``blocks`` are loops.

    Python allows at most 100 levels, and at most 20 nested loops, ``try`` and ``with``.
    """

    levels: int = 0
    blocks: int = 0

    def __add__(self, other: Nesting) -> Nesting:
        """Return the depth of one inside the other."""
        return Nesting(self.levels + other.levels, self.blocks + other.blocks)

    @property
    def fits(self) -> bool:
        """Whether a generated function may be so deep, with room for its last steps."""
        return self.levels <= _MAX_LEVELS and self.blocks <= _MAX_BLOCKS


_BLOCKS = ("for ", "while ", "try:", "with ")
_MAX_LEVELS = 80
_MAX_BLOCKS = 12


def compile_push(steps: Sequence[Step], label: str) -> Push:
    """Compile the steps to a function that processes one record."""
    made: Push = _compile_source(
        "def push(value, timestamp):", [*map(_with_size_check, steps)], 1, label
    )
    return made


def compile_push_all(steps: Sequence[Step], label: str) -> PushAll:
    """Compile the steps to a function that processes a chunk: records, and timestamps or None."""
    if any(step.fans_out for step in steps):
        steps = [*map(_with_size_check, steps)]
    with_time: PushAll = _compile_source(_LOOP_WITH_TIMESTAMPS, steps, 2, label)
    without: Callable[[list[Any]], None] = _compile_source(_LOOP_WITHOUT, steps, 2, label)

    def push_all(values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        if timestamps is None:
            without(values)
        else:
            with_time(values, timestamps)

    return push_all


def compile_process_block(steps: Sequence[Step], label: str) -> ProcessBlock:
    """Compile the steps to a function for blocks of keyed records; steps may read ``key``."""
    made: ProcessBlock = _compile_source(_LOOP_WITH_KEYS, [*map(_with_size_check, steps)], 2, label)
    return made


def _with_size_check(step: Step) -> Step:
    return replace(step, lines=(*step.lines, *step.size_check), size_check=())


def call_step(push: Push) -> Step:
    """Return a step that calls a function with the record: the last step of a chain."""
    return Step(("$push(value, timestamp)",), {"push": push})


_LOOP_WITH_TIMESTAMPS = """\
def push(values, timestamps):
    PROLOGUE
    for value, timestamp in zip(values, timestamps, strict=True):"""
_LOOP_WITHOUT = """\
def push(values):
    PROLOGUE
    for value in values:
        timestamp = None"""

_LOOP_WITH_KEYS = """\
def push(keys, values, timestamps):
    PROLOGUE
    times = timestamps or [None] * len(values)
    for key, value, timestamp in zip(keys, values, times, strict=True):"""


def _compile_source(head: str, steps: Sequence[Step], depth: int, label: str) -> Any:
    """Generate the source of a function from its head and steps, and compile it.

    ``depth``: the indentation level of the first step. ``label``: for the file name in tracebacks.
    """
    names: dict[str, Any] = {}
    prologue: list[str] = []
    body: list[str] = []
    cleanups: list[tuple[str, ...]] = []
    epilogue: list[str] = []
    for number, step in enumerate(steps):
        names.update({f"{name}_{number}": value for name, value in step.names.items()})
        body += _indent_lines(step.lines, number, depth)
        depth += _levels_opened(step.lines)
        cleanups.append(_indent_lines(step.cleanup, number, depth))
        prologue += _indent_lines(step.prologue, number, 1)
        epilogue += _indent_lines(step.epilogue, number, 1)
    text = head.replace("    PROLOGUE", "\n".join(prologue or ["    pass"]))
    cleanup = chain.from_iterable(reversed(cleanups))
    source = "\n".join([text, *body, *cleanup, *epilogue]) + "\n"
    # Named by its text: a job's next run in this process uses the same name, so nothing grows.
    file = f"{GENERATED_PREFIX}{label!r} #{zlib.crc32(source.encode()):08x}>"
    # Tracebacks and debuggers find the text here.
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(_compiled_code(source, file), names)
    return names["push"]


@lru_cache(maxsize=1024)
def _compiled_code(source: str, file: str) -> CodeType:
    """Compile a source text; cached, as each micro-batch of a job needs the same functions."""
    return compile(source, file, "exec")


@lru_cache(maxsize=4096)
def _indent_lines(lines: tuple[str, ...], number: int, depth: int) -> tuple[str, ...]:
    """Return a step's lines, indented, with the step's number added to its ``$`` names."""
    return tuple("    " * depth + _STEP_NAME.sub(rf"\g<1>_{number}", line) for line in lines)


def _levels_opened(lines: Sequence[str]) -> int:
    """Return how many levels deeper the lines of the next step must be indented."""
    return _depth_of(lines[-1]) + lines[-1].endswith(":")


def _depth_of(line: str) -> int:
    return (len(line) - len(line.lstrip())) // 4
