"""A stream in which a pattern is looked for."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

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
from headrace.common._arguments import require_instance, require_positive
from headrace.common._output_tag import OutputTag
from headrace.common.typeinfo import TypeInformation
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.known_types import known_type
from headrace.datastream._build.user_functions import to_user_function
from headrace.datastream._streams.partitioning import to_one_key
from headrace.datastream.data_stream import DataStream, KeyedStream
from headrace.datastream.functions import Function
from headrace.errors import PlanError, WrongFunctionError
from headrace.operators.patterns.operator import DEFAULT_LIMIT, Limit, Overflow, PatternSpec
from headrace.operators.patterns.stages import Stage
from headrace.runtime.user_function import UserFunction

__all__ = ["CEP", "PatternStream"]


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
        order = None
        if comparator is not None:
            site, stream = call_site(), input._describe()
            order = to_user_function(
                comparator, EventComparator, "compare", "CEP.pattern", stream, site
            )
        return PatternStream(input, stages, pattern, order)


@dataclass(frozen=True)
class PatternStream:
    """A stream with a pattern; ``process``, ``select`` and ``flat_select`` give its matches."""

    _input: DataStream
    _stages: tuple[Stage, ...]
    _pattern: Pattern
    _comparator: UserFunction | None = None
    _is_event_time: bool = True
    _late: OutputTag | None = None
    _limit: Limit = DEFAULT_LIMIT

    def in_event_time(self) -> PatternStream:
        """Return it in event time, which is the default: events are taken in order of time."""
        return replace(self, _is_event_time=True)

    def in_processing_time(self) -> PatternStream:
        """Return it in processing time: events are taken as they come."""
        return replace(self, _is_event_time=False)

    def side_output_late_data(self, late_data_output_tag: OutputTag) -> PatternStream:
        """Return it with a side output for late events, which otherwise are dropped and counted.

        An event is late if its timestamp is not after the watermark.
        """
        return replace(self, _late=require_instance(OutputTag, late_data_output_tag))

    def limit_partial_matches(
        self, count: int, overflow: Overflow = Overflow.FAIL
    ) -> PatternStream:
        """Return it with another limit on the partial matches of a key (default: 10,000).

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
        selecting = Selecting(function.target, _caller(function), flat)
        if len(given) == 3:
            timeouts: Any = given[1]
            tag = require_instance(OutputTag, given[0])
            timeout = self._to_function(timeouts, *kinds[1], call, True)
            selecting = SelectingTimeouts(
                function.target, _caller(function), flat, tag, timeout.target, _caller(timeout)
            )
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
        spec = PatternSpec(
            function,
            self._stages,
            self._pattern._skip._skip,
            self._is_event_time,
            self._comparator,
            None if self._late is None else self._late.tag_id,
            self._limit,
            known_type(stream._edges),
        )
        if isinstance(stream, KeyedStream):
            return stream._add(spec, call_site(), call, output_type, inputs=stream._keyed_edges())
        edges = to_one_key(stream._edges)
        made = stream._add(spec, call_site(), call, output_type, inputs=edges)
        return made.force_non_parallel()


def _caller(function: UserFunction) -> Callable[[Any], Any]:
    return _Method(function.method)


@dataclass(frozen=True)
class _Method:
    """Gets what is to be called from a function: itself, or a method."""

    name: str | None

    def __call__(self, function: Any) -> Any:
        return function if self.name is None else getattr(function, self.name)
