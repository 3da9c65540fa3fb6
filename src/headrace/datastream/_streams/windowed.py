"""The windows of a stream, after ``window`` or ``window_all``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from headrace.common._arguments import require_at_least, require_positive, with_article
from headrace.common._output_tag import OutputTag
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.common.typeinfo import TypeInformation, Types
from headrace.datastream._build import aggregations
from headrace.datastream._build import nodes as build
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.known_types import known_type, reduced_type
from headrace.datastream._build.user_functions import to_user_function
from headrace.datastream._streams.partitioning import to_one_key
from headrace.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    Function,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from headrace.datastream.window import (
    CountEvictor,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    Evictor,
    GlobalWindows,
    MergingWindowAssigner,
    PurgingTrigger,
    Trigger,
    WindowAssigner,
)
from headrace.errors import PlanError, WrongFunctionError
from headrace.graph.transformation import CallSite, Edge
from headrace.operators.inspection import overrides
from headrace.operators.windows.contents import (
    Aggregated,
    Contents,
    Elements,
    Reduced,
    WindowCall,
)
from headrace.operators.windows.spec import WindowSpec
from headrace.runtime.user_function import UserFunction

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream, KeyedStream
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

Reduce = Callable[[Any, Any], Any] | ReduceFunction


class _Windowed:
    """The common methods of windowed streams, with and without keys."""

    _kind: str
    _apply_kind: type[Function]
    _process_kind: type[Function]
    _with_key: bool

    def __init__(self, stream: DataStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        self._stream = stream
        if not isinstance(window_assigner, WindowAssigner):
            hint = "TumblingEventTimeWindows.of(Time.seconds(5)), for example"
            raise self._wrong_argument_error("expected a WindowAssigner", window_assigner, hint)
        self._window_assigner = window_assigner
        self._window_trigger: Trigger[Any, Any] | None = None
        self._evictor: Evictor[Any, Any] | None = None
        self._allowed_lateness = 0
        self._late_data_output_tag: OutputTag | None = None

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment of this stream."""
        return self._stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation:
        """Return the type of the records."""
        return self._stream.get_type()

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Set the trigger, which replaces the default trigger of the assigner."""
        if not isinstance(trigger, Trigger):
            raise self._wrong_argument_error(
                "expected a Trigger", trigger, "CountTrigger.of(10), for example"
            )
        self._window_trigger = trigger
        self._require_mergeable(trigger)
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> Self:
        """Set the evictor, which removes records when a window fires.

        With an evictor all records of a window are kept in state.
        """
        if not isinstance(evictor, Evictor):
            raise self._wrong_argument_error(
                "expected an Evictor", evictor, "CountEvictor.of(10), for example"
            )
        self._evictor = evictor
        return self

    def allowed_lateness(self, time_ms: TimeAmount) -> Self:
        """Keep event-time windows for ``time_ms`` after their end, for late records.

        A record that arrives in this time makes its window fire again.
        """
        self._allowed_lateness = milliseconds_of(time_ms, "the allowed lateness", at_least=0)
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> Self:
        """Send records that are too late for all of their windows to a side output."""
        if not isinstance(output_tag, OutputTag):
            raise self._wrong_argument_error(
                "expected an OutputTag", output_tag, 'OutputTag("late")'
            )
        self._late_data_output_tag = output_tag
        return self

    def reduce(
        self,
        reduce_function: Reduce,
        window_function: Any = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Reduce the records of each window to one, which a window function may then change."""
        site = call_site()
        fold = self._to_user_function(reduce_function, ReduceFunction, "reduce", "reduce", site)
        if window_function is None:
            output_type = output_type or self._kept_type()
        call = self._make_window_call(window_function, "reduce", site)
        contents = self._make_reduced(call, fold)
        return self._add_window(contents, site, "reduce", output_type)

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: Any = None,
        accumulator_type: TypeInformation | list[TypeInformation] | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Aggregate the records of each window; a window function may then change the result."""
        site = call_site()
        fold = self._to_user_function(
            aggregate_function, AggregateFunction, "add", "aggregate", site, accepts_callable=False
        )
        if isinstance(accumulator_type, list):
            accumulator_type = Types.ROW(accumulator_type)
        build.check_type(accumulator_type, "aggregate")
        call = self._make_window_call(window_function, "aggregate", site)
        contents = Aggregated(call, fold, accumulator_type)
        return self._add_window(contents, site, "aggregate", output_type)

    def apply(self, window_function: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Apply a window function to the records of each window."""
        site = call_site()
        function = self._to_user_function(
            window_function, self._apply_kind, "apply", "apply", site, accepts_callable=False
        )
        call = WindowCall(function, self._with_key, with_context=False)
        return self._add_window(Elements(call), site, "apply", output_type)

    def process(
        self, process_window_function: Any, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Apply a window function with a context (clocks, state) to the records of each window."""
        site = call_site()
        function = self._to_user_function(
            process_window_function,
            self._process_kind,
            "process",
            "process",
            site,
            accepts_callable=False,
        )
        call = WindowCall(function, self._with_key, with_context=True)
        return self._add_window(Elements(call), site, "process", output_type)

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """Emit the first record of each window, with one field replaced by its sum."""
        fold = aggregations.first_record("sum", position_to_sum)
        return self._add_fold(fold, call_site(), "sum")

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """Emit the first record of each window, with one field replaced by its minimum."""
        fold = aggregations.first_record("min", position_to_min)
        return self._add_fold(fold, call_site(), "min")

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """Emit the first record of each window, with one field replaced by its maximum."""
        fold = aggregations.first_record("max", position_to_max)
        return self._add_fold(fold, call_site(), "max")

    def min_by(self, position_to_min_by: int | str = 0, first: bool = True) -> DataStream:
        """Emit the record with the minimum of one field; of equal ones the first (or the last)."""
        fold = aggregations.extreme_record("min", position_to_min_by, first)
        return self._add_fold(fold, call_site(), "min_by")

    def max_by(self, position_to_max_by: int | str = 0, first: bool = True) -> DataStream:
        """Emit the record with the maximum of one field; of equal ones the first (or the last)."""
        fold = aggregations.extreme_record("max", position_to_max_by, first)
        return self._add_fold(fold, call_site(), "max_by")

    # Internal methods

    def _list_edges(self) -> tuple[Edge, ...]:
        raise NotImplementedError

    def _kept_type(self) -> TypeInformation | None:
        return self._stream._type()

    def _make_reduced(self, call: WindowCall | None, function: UserFunction) -> Reduced:
        return Reduced(call, function, reduced_type(self._stream._edges, function))

    def _add_fold(self, fold: Any, site: CallSite, call: str) -> DataStream:
        """Add a window operator that folds a field of the records, as ``sum`` or ``min_by``."""
        stream = self._stream
        aggregations.require_declared(
            fold.field, known_type(stream._edges), call, stream._describe(), site
        )
        contents = self._make_reduced(None, UserFunction(fold))
        return self._add_window(contents, site, call, kept_type=self._kept_type())

    def _add_window(
        self,
        contents: Contents,
        site: CallSite,
        call: str,
        output_type: TypeInformation | None = None,
        kept_type: TypeInformation | None = None,
    ) -> DataStream:
        """Add a window operator with the given contents to the stream."""
        assigner, spec = self._window_assigner, self._spec_of(contents)
        stream = self._stream._describe()
        for given in (spec.assigner, spec.trigger, spec.evictor):
            if given is not None:
                build.require_sendable(given, call, stream, site)
        made = self._stream._add(
            spec, site, call, output_type, kept_type=kept_type, inputs=self._list_edges()
        )
        names = ", ".join(type(function.target).__name__ for function in contents.functions)
        shown = self._window_trigger or assigner.get_default_trigger(None)
        return made.set_description(f"{self._kind}({assigner}, {type(shown).__name__}, {names})")

    def _spec_of(self, contents: Contents) -> WindowSpec:
        evictor = self._evictor
        return WindowSpec(
            UserFunction(self._window_assigner, "assign_windows"),
            UserFunction(self._effective_trigger(), "on_element"),
            replace(contents, record_type=known_type(self._stream._edges)),
            None if evictor is None else UserFunction(evictor, "evict_before"),
            self._allowed_lateness,
            self._late_data_output_tag,
        )

    def _effective_trigger(self) -> Trigger[Any, Any]:
        """Return the program's trigger, or else the default trigger of the assigner."""
        assigner, trigger = self._window_assigner, self._window_trigger
        if trigger is not None:
            return trigger
        trigger = assigner.get_default_trigger(self.get_execution_environment())
        self._require_mergeable(trigger)
        if isinstance(assigner, CountTumblingWindowAssigner | CountSlidingWindowAssigner):
            # A window that has fired is full: no record will come, so nothing is kept.
            return PurgingTrigger.of(trigger)
        return trigger

    def _require_mergeable(self, trigger: Trigger[Any, Any]) -> None:
        """Raise WrongFunctionError if the windows merge, but the trigger cannot."""
        merging = isinstance(self._window_assigner, MergingWindowAssigner)
        if merging and not self._can_merge(trigger):
            raise WrongFunctionError(
                f"the windows of {self._window_assigner!r} merge, but {type(trigger).__name__}"
                " cannot",
                where={"stream": self._stream._describe()},
                hint="override can_merge() to return True, and on_merge() to merge its state",
            )

    def _can_merge(self, trigger: Trigger[Any, Any]) -> bool:
        """Return True if the trigger can merge windows, by Flink's or PyFlink's rules."""
        if trigger.can_merge():
            return True
        while isinstance(trigger, PurgingTrigger):
            trigger = trigger.nested_trigger
        # PyFlink checks `can_merge` for windows without keys only. A user's trigger always has
        # `on_merge`, as it is abstract.
        return self._with_key and overrides(type(trigger), "on_merge")

    def _make_window_call(self, func: Any, call: str, site: CallSite) -> WindowCall | None:
        """Convert the function that gets the window's result; None if there is none."""
        if func is None:
            return None
        with_context = isinstance(func, self._process_kind)
        kind = self._process_kind if with_context else self._apply_kind
        method = "process" if with_context else "apply"
        function = self._to_user_function(func, kind, method, call, site, accepts_callable=False)
        return WindowCall(function, self._with_key, with_context)

    def _to_user_function(
        self,
        func: Any,
        kind: type[Function],
        method: str,
        call: str,
        site: CallSite,
        *,
        accepts_callable: bool = True,
    ) -> UserFunction:
        """Convert a function that the program passes; see ``to_user_function``."""
        stream = self._stream._describe()
        return to_user_function(
            func, kind, method, call, stream, site, accepts_callable=accepts_callable
        )

    def _wrong_argument_error(self, expected: str, argument: Any, hint: str) -> PlanError:
        """Return the error for an argument that is not what the method expects."""
        return WrongFunctionError(
            f"{expected}, not {with_article(type(argument).__name__)}",
            where={"stream": self._stream._describe(), "called": str(call_site())},
            hint=hint,
        )


class WindowedStream(_Windowed):
    """A keyed stream whose records are grouped into windows by key."""

    _kind = "Window"
    _apply_kind = WindowFunction
    _process_kind = ProcessWindowFunction
    _with_key = True

    def __init__(
        self, keyed_stream: KeyedStream, window_assigner: WindowAssigner[Any, Any]
    ) -> None:
        super().__init__(keyed_stream, window_assigner)
        self._keyed_stream = keyed_stream

    @classmethod
    def _of_count(cls, stream: KeyedStream, size: int, slide: int) -> Self:
        """Return windows of a number of records of each key; ``slide`` 0: none overlap."""
        if require_at_least(slide, 0, "the slide of a count window") == 0:
            return cls(stream, CountTumblingWindowAssigner(size))
        return cls(stream, CountSlidingWindowAssigner(size, slide))

    def _list_edges(self) -> tuple[Edge, ...]:
        return self._keyed_stream._keyed_edges()


class AllWindowedStream(_Windowed):
    """A stream whose records are grouped into windows without keys, in one task."""

    _kind = "AllWindow"
    _apply_kind = AllWindowFunction
    _process_kind = ProcessAllWindowFunction
    _with_key = False

    def __init__(self, data_stream: DataStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        super().__init__(data_stream, window_assigner)

    @classmethod
    def _of_count(cls, stream: DataStream, size: int, slide: int) -> Self:
        """Return windows of a number of records; ``slide`` 0: none overlap."""
        require_positive(size, "the size of a count window")
        windows = cls(stream, GlobalWindows.create())
        if require_at_least(slide, 0, "the slide of a count window") == 0:
            return windows.trigger(PurgingTrigger.of(CountTrigger.of(size)))
        return windows.evictor(CountEvictor.of(size)).trigger(CountTrigger.of(slide))

    def _list_edges(self) -> tuple[Edge, ...]:
        return to_one_key(self._stream._edges)

    def _add_window(self, *how: Any, **more: Any) -> DataStream:
        return super()._add_window(*how, **more).force_non_parallel()
