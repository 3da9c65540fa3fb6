"""Where a record's timestamp comes from, and how watermarks follow from timestamps."""

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
    """Says at what time an event happened."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The event time in milliseconds since the epoch; a datetime is accepted too.

        ``record_timestamp`` is the one the record has so far (from Kafka, say), and
        ``MIN_WATERMARK`` where it has none. A datetime without a zone is taken as UTC.
        """


@dataclass(frozen=True)
class WatermarkStrategy:
    """How a stream gets timestamps and watermarks. A value: each method gives a new one."""

    generator_factory: Callable[[], WatermarkGenerator] = NoWatermarks
    timestamp_assigner: TimestampAssigner | TimestampColumn | Callable[..., Any] | None = None
    idle_timeout_ms: int | None = None
    alignment: tuple[str, int, int] | None = None
    """Group, maximal drift in ms, update interval in ms."""

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """Watermarks for records in the order of their timestamps."""
        return WatermarkStrategy(MonotonousTimestamps)

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: TimeWithUnit) -> WatermarkStrategy:
        """Watermarks for records that come late by at most so much."""
        bound_ms = milliseconds_with_unit(
            max_out_of_orderness, "the out-of-orderness bound", at_least=0
        )
        return WatermarkStrategy(partial(BoundedOutOfOrderness, bound_ms))

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """No watermarks: event time stands still until the input ends."""
        return WatermarkStrategy(NoWatermarks)

    @staticmethod
    def for_generator(factory: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        """Watermarks of the user's own generators: their class, or a function that makes one.

        Raises:
            PlanError: a generator is given in place of what makes one for each split.
        """
        given: object = factory  # callers without a type checker give anything
        if isinstance(given, WatermarkGenerator) or not callable(given):
            raise PlanError(
                f"for_generator was given {factory!r}",
                hint="give the WatermarkGenerator class, or a function without arguments that "
                "makes one: every split has a generator of its own",
            )
        return WatermarkStrategy(factory)

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner | Callable[..., Any] | str
    ) -> WatermarkStrategy:
        """The same, with timestamps from an assigner, a plain function, or the field of a name.

        Where records come as columns, a named field is taken as a whole. The function takes
        ``(value)`` or ``(value, record_timestamp)``: it gets both where it requires two arguments,
        or where the second is called ``record_timestamp``.

        Raises:
            PlanError: it takes other arguments.
        """
        given: Any = timestamp_assigner
        if isinstance(given, str):
            given = TimestampColumn(given)
        _extraction(given)  # fail here, at the user's line
        return replace(self, timestamp_assigner=given)

    def with_idleness(self, idle_timeout: TimeWithUnit) -> WatermarkStrategy:
        """The same; a split silent for so long no longer holds back the others' watermark."""
        timeout_ms = milliseconds_with_unit(idle_timeout, "the idle timeout", at_least=1)
        return replace(self, idle_timeout_ms=timeout_ms)

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: TimeWithUnit,
        update_interval: TimeWithUnit | None = None,
    ) -> WatermarkStrategy:
        """The same; splits of the group wait while they are ahead of its slowest by more.

        Raises:
            TypeMismatchError: the group is no str, or an amount has no unit.
        """
        group: object = watermark_group  # callers without a type checker give anything
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
        """A new generator, for one split.

        Raises:
            TypeMismatchError: the user's factory made something else.
        """
        generator = self.generator_factory()
        if not isinstance(generator, WatermarkGenerator):
            raise TypeMismatchError(
                f"the watermark generator's factory made {generator!r}, no WatermarkGenerator"
            )
        return generator

    @property
    def generates_watermarks(self) -> bool:
        """Whether event time can advance before the input ends."""
        return self.generator_factory is not NoWatermarks

    @property
    def timestamp_of(self) -> _TimestampOf | None:
        """A function (value, timestamp so far or None) to milliseconds; None: keep what is there.

        Ask once per reader, not per record. It raises what ``as_ms`` raises.
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
        """What the assigner calls, and whether with the timestamp so far, too; None: no assigner.

        Whoever calls it makes its results milliseconds by ``as_ms``.
        """
        assigner = self.timestamp_assigner
        return None if assigner is None else _extraction(assigner)


def _extraction(
    assigner: TimestampAssigner | TimestampColumn | Callable[..., Any],
) -> tuple[Callable[..., Any], bool]:
    extract = getattr(assigner, "extract_timestamp", None)
    if extract is not None:
        return extract, True
    if not callable(assigner):
        raise PlanError(
            f"{assigner!r} is no timestamp assigner",
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
    # *args alone is one argument: operator.itemgetter and others of its kind look like that
    open_ended = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    if len(required) > 2 or not (by_position or open_ended):
        raise PlanError(
            f"the timestamp function takes {len(required)} arguments",
            hint="it should take (value) or (value, record_timestamp)",
        )
    return False
