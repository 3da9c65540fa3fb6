"""Runs: records of a block that are read one after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.runtime.block import Block, Mark, values_of

if TYPE_CHECKING:
    from headrace.runtime.columns.batch import Columns


RUN_RECORDS = 512
"""Runs under one watermark are put together up to this many records."""


class Run(NamedTuple):
    """Records of a block that are read one after another: from ``start``, before ``stop``."""

    block: Block
    values: Columns | list[Any]
    start: int
    stop: int


Read = Run | Mark
"""What a task reads next."""


def found_in(block: Block) -> Columns | list[Any]:
    """The columns of a block as they are, else its records."""
    return values_of(block) if isinstance(block.values, list) else block.values


def put_together(runs: Iterable[Run]) -> Iterator[Run]:
    """The same records in fewer runs: between two watermarks a sender often has one or two."""
    short: list[Run] = []
    records = 0
    for run in runs:
        short.append(run)
        records += run.stop - run.start
        if records >= RUN_RECORDS:
            yield one_run(short)
            short, records = [], 0
    if short:
        yield one_run(short)


def one_run(runs: list[Run]) -> Run:
    """The records of several runs, one after another, as one run."""
    if len(runs) == 1:
        return runs[0]
    if not isinstance(runs[0].values, list):
        from headrace.runtime.columns.runs import columns_together

        together = columns_together(runs)
        if together is not None:
            return Run(*together, 0, len(together[1]))
    keys: list[Any] = []
    values: list[Any] = []
    stamps: list[int | None] = []
    for block, found, start, stop in runs:
        values += found[start:stop]
        if block.keys is not None:
            keys += block.keys[start:stop]
        known = block.timestamps
        stamps += known[start:stop] if known is not None else [None] * (stop - start)
    number = runs[0].block.input
    block = Block(keys or None, values, stamps, False, [], None, 0, input=number)
    return Run(block, values, 0, len(values))
