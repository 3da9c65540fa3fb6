"""A watermark after each record in Headrace, for programs that ask for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from headrace.common.watermark_strategy import (
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from headrace.datastream import DataStream
from tests.differential.corpus import Program


class AfterEach(WatermarkGenerator):
    """Asks a periodic generator after each event, and not only where chunks of records end."""

    def __init__(self, make: Callable[[], WatermarkGenerator]) -> None:
        self.periodic = make()

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        self.periodic.on_event(event, event_timestamp, output)
        self.periodic.on_periodic_emit(output)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Nothing is left to say."""


@contextmanager
def as_the_program_says(program: Program) -> Iterator[None]:
    """While a program is built: let its strategies give watermarks as it says."""
    if not program.watermark_each_record:
        yield
        return
    assign = DataStream.assign_timestamps_and_watermarks

    def assign_each(stream: DataStream, strategy: WatermarkStrategy) -> DataStream:
        each = replace(strategy, generator_factory=partial(AfterEach, strategy.generator_factory))
        return assign(stream, each)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DataStream, "assign_timestamps_and_watermarks", assign_each)
        yield
