"""``WatermarkStrategy``: how a stream gets timestamps and watermarks."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from headrace.common._timestamp_column import TimestampColumn
from headrace.common._timestamp_values import as_ms
from headrace.common._unsupported import unsupported
from headrace.common._watermark_generators import (
    MAX_WATERMARK,
    MIN_WATERMARK,
    BoundedOutOfOrderness,
    MonotonousTimestamps,
    NoWatermarks,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
)
from headrace.common.time import TimeWithUnit, milliseconds_with_unit
from headrace.errors import PlanError, TypeMismatchError

__all__ = [
    "MAX_WATERMARK",
    "MIN_WATERMARK",
    "AssignerWithPeriodicWatermarksWrapper",
    "BoundedOutOfOrderness",
    "MonotonousTimestamps",
    "NoWatermarks",
    "TimestampAssigner",
    "Watermark",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]

AssignerWithPeriodicWatermarksWrapper = unsupported(
    "headrace.common.watermark_strategy.AssignerWithPeriodicWatermarksWrapper",
    "it wraps a JVM object; write a WatermarkGenerator and use WatermarkStrategy.for_generator",
)

_TimestampOf = Callable[[Any, int | None], int]

_DEFAULT_ALIGNMENT_INTERVAL_MS = 1000


class TimestampAssigner(ABC):
    """Extracts the event time of a record."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Return the event time of a record in milliseconds since the epoch, or as a datetime.

        ``record_timestamp`` is the timestamp from the source (Kafka has one), or ``MIN_WATERMARK``
        if there is none. A datetime without a time zone is taken as UTC.
        """


@dataclass(frozen=True)
class WatermarkStrategy:
    """How a stream gets timestamps and watermarks. Immutable: methods return a new strategy."""

    generator_factory: Callable[[], WatermarkGenerator] = NoWatermarks
    timestamp_assigner: TimestampAssigner | TimestampColumn | Callable[..., Any] | None = None
    idle_timeout_ms: int | None = None
    alignment: tuple[str, int, int] | None = None
    """Watermark group, maximum drift in ms, update interval in ms."""

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """Return a strategy for records whose timestamps never decrease."""
        return WatermarkStrategy(MonotonousTimestamps)

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: TimeWithUnit) -> WatermarkStrategy:
        """Return a strategy for records out of order by at most ``max_out_of_orderness``.

        Raises:
            TypeMismatchError: the argument is an int, which has no unit, or no amount of time.
            PlanError: the amount is negative.
        """
        bound_ms = milliseconds_with_unit(
            max_out_of_orderness, "the out-of-orderness bound", at_least=0
        )
        return WatermarkStrategy(partial(BoundedOutOfOrderness, bound_ms))

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """Return a strategy without watermarks: event time advances only when the input ends."""
        return WatermarkStrategy(NoWatermarks)

    @staticmethod
    def for_generator(factory: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        """Return a strategy with a custom generator; ``factory`` makes one for each split.

        Raises:
            PlanError: ``factory`` cannot be called, or is a generator itself.
        """
        given: object = factory  # not checked by a type checker in users' programs
        if isinstance(given, WatermarkGenerator) or not callable(given):
            raise PlanError(
                f"for_generator was given {factory!r}",
                hint="give the class of the generator, or a function without arguments that makes"
                " one: every split has its own generator",
            )
        return WatermarkStrategy(factory)

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner | Callable[..., Any] | str
    ) -> WatermarkStrategy:
        """Return a strategy with timestamps from an assigner, a function or a field name.

        A function takes ``(value)`` or ``(value, record_timestamp)``: it receives both if it has
        two required parameters, or if its second parameter is called ``record_timestamp``. It
        returns milliseconds since the epoch or a datetime. A field name is the fastest for
        columnar sources.

        Raises:
            PlanError: the function takes other arguments.
        """
        given: Any = timestamp_assigner
        if isinstance(given, str):
            given = TimestampColumn(given)
        _extract_function_of(given)  # fail here, at the user's line
        return replace(self, timestamp_assigner=given)

    def with_idleness(self, idle_timeout: TimeWithUnit) -> WatermarkStrategy:
        """Return a strategy that marks a split without records for ``idle_timeout`` as idle.

        The watermark of an operator does not wait for idle splits.

        Raises:
            TypeMismatchError: the argument is an int, which has no unit, or no amount of time.
            PlanError: the amount is less than 1 ms.
        """
        timeout_ms = milliseconds_with_unit(idle_timeout, "the idle timeout", at_least=1)
        return replace(self, idle_timeout_ms=timeout_ms)

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: TimeWithUnit,
        update_interval: TimeWithUnit | None = None,
    ) -> WatermarkStrategy:
        """Return a strategy that pauses a split while its watermark is too far ahead.

        The limit is ``max_allowed_watermark_drift`` ahead of the slowest split of the sources
        with this ``watermark_group``. The ``update_interval`` is 1 second by default.

        Raises:
            TypeMismatchError: the group is not a str, or an amount has no unit.
            PlanError: the drift is negative, or the interval is less than 1 ms.
        """
        group: object = watermark_group  # not checked by a type checker in users' programs
        if not isinstance(group, str):
            raise TypeMismatchError(f"the watermark group is {group!r}, not a str")
        drift_ms = milliseconds_with_unit(
            max_allowed_watermark_drift, "the watermark drift", at_least=0
        )
        interval_ms = (
            _DEFAULT_ALIGNMENT_INTERVAL_MS
            if update_interval is None
            else milliseconds_with_unit(update_interval, "the update interval", at_least=1)
        )
        return replace(self, alignment=(watermark_group, drift_ms, interval_ms))

    def create_generator(self) -> WatermarkGenerator:
        """Make a new generator for one split.

        Raises:
            TypeMismatchError: the user's factory did not return a ``WatermarkGenerator``.
        """
        generator = self.generator_factory()
        if not isinstance(generator, WatermarkGenerator):
            raise TypeMismatchError(
                f"the watermark generator's factory returned {generator!r}",
                hint="it must return a WatermarkGenerator",
            )
        return generator

    @property
    def generates_watermarks(self) -> bool:
        """Whether event time can advance before the input ends."""
        return self.generator_factory is not NoWatermarks

    @property
    def timestamp_of(self) -> _TimestampOf | None:
        """A function of (value, timestamp from the source or None) that returns milliseconds.

        It is None if the strategy has no assigner: records keep their timestamps. Read this
        property once per reader, not per record. The function raises the same errors as ``as_ms``.
        """
        extraction = self.extraction
        if extraction is None:
            return None
        return (
            _from_value_and_timestamp(extraction[0])
            if extraction[1]
            else _from_value(extraction[0])
        )

    @property
    def extraction(self) -> tuple[Callable[..., Any], bool] | None:
        """The user's function, and whether it also receives the timestamp from the source.

        It is None if the strategy has no assigner. Results must be converted by ``as_ms``.
        """
        assigner = self.timestamp_assigner
        return None if assigner is None else _extract_function_of(assigner)


def _extract_function_of(
    assigner: TimestampAssigner | TimestampColumn | Callable[..., Any],
) -> tuple[Callable[..., Any], bool]:
    extract = getattr(assigner, "extract_timestamp", None)
    if extract is not None:
        return extract, True
    if not callable(assigner):
        raise PlanError(
            f"{assigner!r} is not a timestamp assigner",
            hint="give a TimestampAssigner or a function of (value) or (value, record_timestamp)",
        )
    return assigner, _takes_record_timestamp(assigner)


def _from_value_and_timestamp(extract: Callable[[Any, int], Any]) -> _TimestampOf:
    def timestamp_of(value: Any, record_timestamp: int | None) -> int:
        result = extract(value, MIN_WATERMARK if record_timestamp is None else record_timestamp)
        if type(result) is int and MIN_WATERMARK <= result <= MAX_WATERMARK:
            return result
        return as_ms(result, value)

    return timestamp_of


def _from_value(extract: Callable[[Any], Any]) -> _TimestampOf:
    def timestamp_of(value: Any, record_timestamp: int | None) -> int:
        result = extract(value)
        if type(result) is int and MIN_WATERMARK <= result <= MAX_WATERMARK:
            return result
        return as_ms(result, value)

    return timestamp_of


def _takes_record_timestamp(function: Callable[..., Any]) -> bool:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some functions written in C have no signature to read
        return False
    by_position = [
        parameter
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    required = [one for one in by_position if one.default is one.empty]
    if len(required) == 2 or (
        len(required) == 1 and len(by_position) > 1 and by_position[1].name == "record_timestamp"
    ):
        return True
    # A signature of only *args, such as operator.itemgetter's, is called with one argument.
    open_ended = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    if len(required) > 2 or not (by_position or open_ended):
        raise PlanError(
            f"the timestamp function takes {len(required)} arguments",
            hint="write a function of (value) or (value, record_timestamp)",
        )
    return False
