"""A stream in which a pattern is looked for."""

from __future__ import annotations

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

from headrace.cep._column_conditions import with_types
from headrace.cep._pattern_data import RegisteredConditions
from headrace.cep._selecting import Selecting, SelectingTimeouts
from headrace.cep.functions import (
    EventComparator,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
)
from headrace.cep.pattern import Pattern
from headrace.cep.pattern_registry import PatternRegistry
from headrace.common._arguments import require_instance, require_positive
from headrace.common._output_tag import OutputTag
from headrace.common.typeinfo import TypeInformation
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.known_types import known_type
from headrace.datastream._build.user_functions import to_user_function
from headrace.datastream._streams.connected import check_other
from headrace.datastream._streams.partitioning import to_one_key
from headrace.datastream.data_stream import DataStream, KeyedStream
from headrace.datastream.functions import Function
from headrace.errors import PlanError, WrongFunctionError
from headrace.graph.transformation import Edge
from headrace.operators.patterns.dynamic import DynamicPatternsSpec
from headrace.operators.patterns.operator import DEFAULT_LIMIT, Limit, Overflow, PatternSpec
from headrace.operators.patterns.stages import Stage
from headrace.runtime.operator import OperatorSpec
from headrace.runtime.user_function import UserFunction

__all__ = ["CEP", "DynamicPatternStream", "PatternStream"]


class CEP:
    """Looks for patterns in streams."""

    @staticmethod
    def pattern(
        input: DataStream,
        pattern: Pattern,
        comparator: EventComparator | Callable[[Any, Any], int] | None = None,
    ) -> PatternStream:
        """Look for a pattern in a stream: for each key, or in one task if the stream has no key.

        ``comparator``: orders events that have the same time.

        Raises:
            MalformedPatternError: the pattern is not valid.
        """
        require_instance(DataStream, input)
        require_instance(Pattern, pattern)
        stages = pattern._stages()
        pattern._warn(stacklevel=2)
        order = _order(comparator, input, "CEP.pattern")
        return PatternStream(_input=input, _stages=stages, _pattern=pattern, _comparator=order)

    @staticmethod
    def dynamic_patterns(
        input: DataStream,
        patterns: DataStream,
        registry: PatternRegistry,
        comparator: EventComparator | Callable[[Any, Any], int] | None = None,
    ) -> DynamicPatternStream:
        """Look for patterns that a second stream adds, replaces and removes.

        ``patterns``: a stream of patterns as data (see ``PatternRegistry``): dicts, rows with
        names, or JSON. Each task gets all of them. ``registry``: has the conditions that they name.
        Conditions that are registered after this call are not known. ``comparator``: orders events
        that have the same time.

        In event time a change holds from its own timestamp on, and both streams need watermarks.
        """
        require_instance(DataStream, input)
        require_instance(PatternRegistry, registry)
        call, site = "CEP.dynamic_patterns", call_site()
        check_other(input, patterns, DataStream, site, call)
        if isinstance(patterns, KeyedStream):
            raise PlanError(
                f"{call}() takes patterns without keys, as each task gets all of them",
                where={"patterns": patterns._describe(), "called": str(site)},
                hint="give it the stream of patterns as it is before key_by()",
            )
        return DynamicPatternStream(
            _input=input,
            _patterns=patterns,
            _conditions=registry._registered(),
            _comparator=_order(comparator, input, call),
        )


def _order(comparator: Any, stream: DataStream, call: str) -> UserFunction | None:
    if comparator is None:
        return None
    site = call_site()
    return to_user_function(comparator, EventComparator, "compare", call, stream._describe(), site)


@dataclass(frozen=True, kw_only=True)
class _MatchStream(ABC):
    """A stream with patterns; ``process``, ``select`` and ``flat_select`` give their matches."""

    _input: DataStream
    _comparator: UserFunction | None = None
    _is_event_time: bool = True
    _late: OutputTag | None = None
    _limit: Limit = DEFAULT_LIMIT

    def in_event_time(self) -> Self:
        """Return the stream in event time, the default: events are taken in order of time."""
        return replace(self, _is_event_time=True)

    def in_processing_time(self) -> Self:
        """Return the stream in processing time: events are taken as they arrive."""
        return replace(self, _is_event_time=False)

    def side_output_late_data(self, late_data_output_tag: OutputTag) -> Self:
        """Return the stream with a side output for late events. By default they are dropped.

        Late events that are dropped are counted as ``numLateRecordsDropped``.

        An event is late if its timestamp is not after the watermark.
        """
        return replace(self, _late=require_instance(OutputTag, late_data_output_tag))

    def limit_partial_matches(self, count: int, overflow: Overflow = Overflow.FAIL) -> Self:
        """Return the stream with another limit on the partial matches of a key (default: 10,000).

        ``overflow``: what happens beyond it: the job fails, or the oldest or the newest are dropped
        and counted as ``numPartialMatchesDropped``.
        """
        require_positive(count, "the limit of partial matches")
        return replace(self, _limit=Limit(count, require_instance(Overflow, overflow)))

    def process(
        self,
        pattern_process_function: PatternProcessFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Call a function for each match; its results have the time of the match."""
        function = self._to_function(
            pattern_process_function, PatternProcessFunction, "process_match", "process", False
        )
        return self._add(UserFunction(function.target, "process_match"), "process", output_type)

    def select(self, *functions: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Return a stream with one result for each match.

        ``select(function)``, or ``select(tag, timeout_function, function)``, which sends one result
        for each partial match that times out to a side output. A function is a
        ``PatternSelectFunction`` or takes the match; a timeout function is a
        ``PatternTimeoutFunction`` or takes the match and the time (ms).
        """
        kinds = (PatternSelectFunction, "select"), (PatternTimeoutFunction, "timeout")
        return self._select("select", functions, kinds, output_type, False)

    def flat_select(
        self, *functions: Any, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Return a stream with the results of each match; arguments are as those of ``select``.

        The functions yield results: ``PatternFlatSelectFunction``, ``PatternFlatTimeoutFunction``.
        """
        kinds = (PatternFlatSelectFunction, "flat_select"), (PatternFlatTimeoutFunction, "timeout")
        return self._select("flat_select", functions, kinds, output_type, True)

    def _select(
        self,
        call: str,
        given: tuple[Any, ...],
        kinds: tuple[tuple[type[Function], str], ...],
        output_type: TypeInformation | None,
        flat: bool,
    ) -> DataStream:
        # Flink's overloads: the type comes after the function, or before the last one.
        if len(given) == 2 and isinstance(given[1], TypeInformation):
            output_type, given = given[1], given[:1]
        elif len(given) == 4 and isinstance(given[2], TypeInformation):
            output_type, given = given[2], (*given[:2], given[3])
        if len(given) not in (1, 3):
            raise PlanError(
                f"{call}() takes a function, or a tag, a timeout function and a function;"
                f" it got {len(given)} arguments",
                where={"stream": self._input._describe(), "called": str(call_site())},
                hint=f".{call}(OutputTag('over'), on_timeout, on_match)",
            )
        function = self._to_function(given[-1], *kinds[0], call, True)
        selecting = Selecting(function, flat)
        if len(given) == 3:
            timeouts: Any = given[1]
            tag = require_instance(OutputTag, given[0])
            timeout = self._to_function(timeouts, *kinds[1], call, True)
            selecting = SelectingTimeouts(function, flat, tag, timeout)
        return self._add(UserFunction(selecting, "process_match"), call, output_type)

    def _to_function(
        self, given: Any, kind: type[Function], method: str, call: str, accepts_callable: bool
    ) -> UserFunction:
        stream, site = self._input._describe(), call_site()
        function = to_user_function(
            given, kind, method, call, stream, site, accepts_callable=accepts_callable
        )
        called = inspect.unwrap(function.as_callable())
        results = None
        if inspect.iscoroutinefunction(called) or inspect.isasyncgenfunction(called):
            results = "the asynchronous", "call AsyncDataStream on the matches"
        elif call == "select" and inspect.isgeneratorfunction(called):
            results = "the generator", "return one result; flat_select() takes functions that yield"
        if results is not None:
            raise WrongFunctionError(
                f"{call}() cannot use {results[0]} function {function.name}",
                where={"stream": stream, "called": str(site)},
                hint=results[1],
            )
        return function

    def _add(
        self, function: UserFunction, call: str, output_type: TypeInformation | None
    ) -> DataStream:
        stream = self._input
        if self._late is not None and not self._is_event_time:
            warnings.warn(
                "side_output_late_data() has no effect in processing time: no event is late",
                stacklevel=3 if call == "process" else 4,
            )
        spec = self._spec(function)
        if isinstance(stream, KeyedStream):
            inputs = (*stream._keyed_edges(), *self._pattern_edges())
            return stream._add(spec, call_site(), call, output_type, inputs=inputs)
        inputs = (*to_one_key(stream._edges), *self._pattern_edges())
        made = stream._add(spec, call_site(), call, output_type, inputs=inputs)
        return made.force_non_parallel()

    @abstractmethod
    def _spec(self, function: UserFunction) -> OperatorSpec:
        """Return the operator that calls a function for each match."""

    def _pattern_edges(self) -> tuple[Edge, ...]:
        """Return the edges that bring patterns."""
        return ()

    def _settings(self) -> dict[str, Any]:
        """Return fields of the operator's spec."""
        return {
            "is_event_time": self._is_event_time,
            "comparator": self._comparator,
            "late": None if self._late is None else self._late.tag_id,
            "limit": self._limit,
            "record_type": known_type(self._input._edges),
        }


@dataclass(frozen=True, kw_only=True)
class PatternStream(_MatchStream):
    """A stream with a pattern; ``process``, ``select`` and ``flat_select`` give its matches."""

    _stages: tuple[Stage, ...]
    _pattern: Pattern

    def _spec(self, function: UserFunction) -> OperatorSpec:
        skip, settings = self._pattern._skip._skip, self._settings()
        stages, over_columns = with_types(
            self._stages, settings["record_type"], self._input._describe()
        )
        return PatternSpec(function, stages, skip, over_columns=over_columns, **settings)


@dataclass(frozen=True, kw_only=True)
class DynamicPatternStream(_MatchStream):
    """A stream with patterns that change; ``process`` and others give their matches.

    The context of a function has ``pattern_id()``, and ``pattern()`` with the pattern as data.
    """

    _patterns: DataStream
    _conditions: RegisteredConditions
    _invalid: OutputTag | None = None

    def side_output_invalid_patterns(self, invalid_patterns_output_tag: OutputTag) -> Self:
        """Return the stream with a side output for data that are no valid pattern.

        It gets pairs of the data and the reason. Without it they are only counted, as
        ``numInvalidPatterns``.
        """
        return replace(self, _invalid=require_instance(OutputTag, invalid_patterns_output_tag))

    def _spec(self, function: UserFunction) -> OperatorSpec:
        return DynamicPatternsSpec(
            function,
            reader=self._conditions,
            invalid=None if self._invalid is None else self._invalid.tag_id,
            **self._settings(),
        )

    def _pattern_edges(self) -> tuple[Edge, ...]:
        everywhere = self._patterns.broadcast()
        return tuple(replace(edge, input=1) for edge in everywhere._edges)
