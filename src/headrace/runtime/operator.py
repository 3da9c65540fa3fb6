"""What an operator is: a frozen description (its spec), and the mutable logic of one task."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from headrace.common.changelog_mode import ChangelogMode
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import ProcessBlock as ProcessBlock
from headrace.runtime.loops import Push, Step, call_step, compile_push
from headrace.runtime.state.backend import StateBackend, Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.user_function import (
    UserFunction,
    close_function,
    copy_function_object,
    open_function,
)

if TYPE_CHECKING:
    from headrace.runtime.columns.batch import Columns, PushColumns
    from headrace.runtime.columns.keys import ColumnKeys

PushWatermark = Callable[[int, bool], None]
"""Takes a watermark (ms) and whether its stream is idle."""

Emits = Literal["each", "last"]
"""Which results an operator emits: each one, or only the last (of each key, if it is keyed)."""


class Outputs:
    """The outputs of an operator: ``main``, and ``side(tag_id)``, which may have no consumer.

    ``columns`` and ``side_columns`` are the outputs for ``Columns``, used by operators that take
    columns. ``wants_columns``: whether the operator after the main output prefers columns to rows.
    ``key_groups``: the number of key groups of the exchange after the main output, if that is a key
    exchange; otherwise 1. ``row``: returns the steps after the main output, for operators that
    generate a loop over a chunk.
    """

    __slots__ = (
        "_sides",
        "columns",
        "columns_by_side",
        "key_groups",
        "main",
        "push_watermark",
        "row",
        "wants_columns",
    )

    def __init__(
        self, main: Push, sides: Mapping[str, Push], push_watermark: PushWatermark
    ) -> None:
        self.main = main
        self.row: Callable[[], Sequence[Step]] = self._calling_main
        self.columns: PushColumns = self._as_rows
        self.columns_by_side: Mapping[str, PushColumns] = {}
        self.wants_columns = False
        self.key_groups = 1
        self.push_watermark = push_watermark
        self._sides = dict(sides)

    def side(self, tag_id: str) -> Push:
        """Return the push of a side output."""
        return self._sides.get(tag_id, drop_record)

    def side_columns(self, tag_id: str) -> PushColumns:
        """Return a push of columns for a side output; it converts them if records are needed."""
        found = self.columns_by_side.get(tag_id)
        if found is not None:
            return found
        push = self.side(tag_id)
        return lambda columns: columns.push_rows(push)

    def _calling_main(self) -> Sequence[Step]:
        return (call_step(self.main),)

    def _as_rows(self, columns: Columns) -> None:
        columns.push_rows(self.main)


def drop_record(value: Any, timestamp: int | None) -> None:
    """Drop a record: the push of an output without a consumer."""


@dataclass(frozen=True)
class Traits:
    """The properties of an operator that the planner uses; it never looks at the class.

    ``keyed``: must run after a key exchange. ``state``, ``event_timers``, ``processing_timers``:
    has keyed state, or such timers. ``event_time``: needs watermarks. ``assigns_time``: replaces
    timestamps and watermarks. ``side_outputs``: may emit to side outputs. ``retains_emitted``: its
    state contains records that it emits. ``inputs``: the number of inputs; a union is one.
    ``broadcast_state``: has broadcast state, which only a broadcast input changes.
    ``operator_state``: its state belongs to subtasks (Flink's operator state), not to keys; it must
    be the first operator of a vertex.

    ``takes_columns``: implements ``bind_columns`` or ``process_columns`` (with several inputs
    ``bind_columns_inputs`` or ``column_processors``), and gets columns if the input has them.
    ``passes_columns``: can take columns, but gets them only if an operator downstream takes them.
    ``gives_rows``: may emit rows even for columns. ``gives_columns``: emits columns even for rows.
    ``side_columns``: its side outputs may have columns too, if it takes columns.

    ``calls_async``: buffers records until an external call returns. It gets copies of mutable
    records, and it is not chained to a keyed operator. ``watermarks_in_batch``: gets watermarks
    between timestamps in a batch too; other operators get only the final watermark.
    """

    keyed: bool = False
    state: bool = False
    event_timers: bool = False
    processing_timers: bool = False
    event_time: bool = False
    assigns_time: bool = False
    side_outputs: bool = False
    retains_emitted: bool = False
    inputs: int = 1
    broadcast_state: bool = False
    takes_columns: bool = False
    gives_rows: bool = False
    gives_columns: bool = False
    side_columns: bool = False
    passes_columns: bool = False
    calls_async: bool = False
    watermarks_in_batch: bool = False
    operator_state: bool = False

    @property
    def keeps_state(self) -> bool:
        """Whether it has state of keys or of a broadcast input, which a later program must find."""
        return self.state or self.broadcast_state


class OperatorSpec(ABC):
    """The description of an operator; subclasses are frozen dataclasses, compared by value."""

    traits: Traits = Traits()

    kind: ClassVar[str] = "operator"
    """What the operator is, for checkpoints: it stays when the class is renamed or moved."""

    removes_after_ms: ClassVar[tuple[int | None, ...]] = ()
    """How long records are kept until they match no other: of each side; None: without limit."""

    pattern: ClassVar[tuple[tuple[str, str], ...]] = ()
    """The stages of its pattern, each with a name and what partial matches in state depend on."""

    emits: Emits | None = None
    """Which of its results it emits; None where there is no choice.

    A spec with a choice has this as a field. A program says "each", the planner asks for the last
    where only those count.
    """

    @property
    @abstractmethod
    def label(self) -> str:
        """The operator's default name, such as ``Map``; for most an attribute of the class."""

    @abstractmethod
    def build(self) -> Operator:
        """Return a new, mutable operator: one per task."""

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        """The user functions inside, to be checked, opened and closed: by default, its fields."""
        values = (getattr(self, each.name) for each in fields(self))  # type: ignore[arg-type]
        return tuple(value for value in values if isinstance(value, UserFunction))

    @property
    def why_rows(self) -> str:
        """The reason, in a few words, why the operator takes no columns; for ``explain``."""
        return ""

    def accepts(self, input: int) -> ChangelogMode | None:
        """Return the row kinds that an input accepts; None (the default): all kinds."""
        return None

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return the row kinds of the main output, from those of each input.

        None (the default): a user's function decides, so nothing is checked.
        """
        return None

    def with_final_results(self) -> Self:
        """Return a spec that emits final results only; itself if it has no such choice."""
        return self if self.emits is None else replace(self, emits="last")  # type: ignore[type-var]

    def combiner(self, selector: UserFunction, key_type: Any, by_time: bool) -> Combiner | None:
        """Return a combiner for a key exchange before the operator; None: send every record.

        ``selector`` and ``key_type``: compute a record's key. ``by_time``: the operator processes
        all records in the order of their timestamps, in any order of sending, so none is late.
        """
        return None

    def copied(self) -> Self:
        """Return a copy with its own user functions, for one task.

        A spec that wraps another spec (in tests) keeps the functions of the wrapped spec.
        """
        made = copy.copy(self)  # keeps what was computed of the traits
        for field in fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            value = getattr(self, field.name)
            if isinstance(value, UserFunction):
                vars(made)[field.name] = value.copied()
            elif isinstance(value, WatermarkStrategy):
                assigner = copy_function_object(value.timestamp_assigner)
                vars(made)[field.name] = replace(value, timestamp_assigner=assigner)
        return made


@dataclass(frozen=True)
class Combiner:
    """A combiner before a key exchange, and the operator after the exchange.

    ``spec``: the operator that emits partial results, each with its key, or only leaves records out
    (``sends_partials`` False). ``receiver``: the spec of the operator after the exchange.
    """

    spec: OperatorSpec
    receiver: OperatorSpec
    sends_partials: bool = True


@dataclass(frozen=True)
class Link:
    """Where an output of a node goes: to a ``node``, an ``exchange`` or a ``sink`` (``kind``).

    ``target``: the id of the node, exchange or sink. ``tag``: the id of a side output; None for the
    main output. ``input``: the number of the target's input. ``columns``: whether columns may be
    sent; otherwise records are. ``rows_because``: why columns, which could be sent here, are
    converted to records.
    """

    kind: str
    target: str
    tag: str | None = None
    input: int = 0
    columns: bool = False
    rows_because: str = ""


@dataclass(frozen=True)
class NodeProgram:
    """One operator of a chain.

    ``id``: identifies its state, in this program and in later ones (see ``graph.identity``).
    ``spec``: None for the root of a source, an exchange or a sink. ``kind``: the word for it in
    errors. ``gives``: the row kinds of its main output, if they are declared. ``description``: what
    it does, where its name does not say it.
    """

    id: str
    name: str
    uid: str | None
    site: str
    spec: OperatorSpec | None
    links: tuple[Link, ...]
    kind: str = "operator"
    gives: ChangelogMode | None = None
    description: str = ""


ProcessColumns = Callable[["ColumnKeys", "Columns"], None]
"""Takes the keys of records and the records, as columns, in order."""


class Operator:
    """The running operator of one task, made by ``OperatorSpec.build``.

    The chain calls its hooks in this order: ``open``, ``bind``; then for each task run ``restore``,
    records, ``tick`` and ``watermark``, ``complete``, ``snapshot``; and ``close`` at the end.
    """

    one_to_one = False
    """True when it emits one record for each, and has no step that says so (``Step``)."""

    input_watermark: Callable[[int], int]
    """Gives the watermark (ms) of one input, by its number; it never falls.

    The task sets it before ``bind``, for operators with several inputs.
    """

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        """Prepare for records; called once before ``bind``."""
        self.node = node
        self.key_context = key_context
        for function in node.spec.functions if node.spec else ():
            open_function(function, context)

    def step(self) -> Step | None:
        """Return the operator's part of a generated function; None for one that must be called."""
        return None

    def bind(self, outputs: Outputs) -> Push:
        """Return the function that takes the operator's records: by default, its step."""
        step = self.step()
        assert step is not None, "an operator without a step binds itself"
        return compile_push((step, call_step(outputs.main)), self.node.name)

    def bind_inputs(self, outputs: Outputs) -> tuple[Push, ...]:
        """Return a function for the records of each input; by default, one input."""
        return (self.bind(outputs),)

    def bind_columns(self, outputs: Outputs) -> PushColumns:
        """Return the function that takes columns; required if ``Traits.takes_columns``.

        Called after ``bind``. It emits columns by ``outputs.columns``, rows by ``outputs.main``.
        """
        raise NotImplementedError(f"{type(self).__name__} says that it takes columns, and does not")

    def bind_columns_inputs(self, outputs: Outputs) -> tuple[PushColumns, ...]:
        """Return a function for the columns of each input; by default, one input."""
        return (self.bind_columns(outputs),)

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Process a watermark (ms) of the input; by default, pass it on.

        With several inputs it is the minimum over the inputs that are not idle. ``push_watermark``
        passes a watermark and idleness on to the operators downstream.
        """
        push_watermark(watermark, idle)

    def tick(self) -> None:
        """Emit periodic watermarks; called by the chain after each chunk of records.

        By default nothing happens.
        """

    def complete(self) -> None:
        """Emit everything that the operator still buffers.

        Called by the chain after the last record of a task run, before the last ``tick`` and before
        ``snapshot``. Watermarks may follow it. By default nothing happens.
        """

    def snapshot(self) -> Any | None:
        """Return what ``restore`` gets in the next micro-batch; None for nothing.

        Called by the chain at the end of each task run. Keyed state is stored separately. The
        result must be picklable.
        """
        return None

    def restore(self, state: Any | None) -> None:
        """Set the operator to a result of ``snapshot``; None: to its initial state.

        Called by the chain before each task run, and in a source before each split. The
        implementation must overwrite everything that an earlier run or split has left.
        """

    def reopen(self) -> None:
        """Reset the watermark, as an input that had ended gets records again.

        Called by the chain after ``restore``, if another program continues the job's state.
        """

    def failure_details(self) -> Mapping[str, str]:
        """Return what an error of a user's function says more, by label; by default nothing."""
        return {}

    def close(self) -> None:
        """Release what user functions hold."""
        for function in self.node.spec.functions if self.node.spec else ():
            close_function(function)


class KeyedOperator(Operator, ABC):
    """An operator with keyed state: the first one of a vertex, which gets blocks with keys."""

    @property
    def uses_clock(self) -> bool:
        """Whether it depends on processing time without timers. Then the time must not go back."""
        return False

    @abstractmethod
    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Process the records of a block in order; with several inputs, those of the first.

        Called by the task. The implementation must set the current key for each record. The three
        sequences have the same length; ``timestamps`` None: no record has one.
        """

    def processors(self) -> tuple[ProcessBlock, ...]:
        """Return a function for the blocks of each input; by default, one input."""
        return (self.process,)

    def process_columns(self, keys: ColumnKeys, columns: Columns) -> None:
        """Process a block of columns in order; required if ``Traits.takes_columns``.

        Blocks of rows are still passed to ``process``, if a sender had rows.
        """
        raise NotImplementedError(f"{type(self).__name__} says that it takes columns, and does not")

    def column_processors(self) -> tuple[ProcessColumns, ...]:
        """Return a function for the columns of each input; by default, one input."""
        return (self.process_columns,)

    def take_converted_state(self) -> None:
        """Complete the state of a key group after its conversion; by default nothing happens.

        The task calls it before the operator uses a key group's state, also if an earlier program
        stored nothing.
        """

    def fire_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Handle a timer that is due; ``is_event_time``: which of the two clocks it belongs to.

        Called by the task in the order of time. The implementation must set the current key itself,
        by ``key_context.enter_timer``.
        """

    def finish(self, backend: StateBackend) -> None:
        """Emit the final results of a batch; by default nothing happens.

        Called by the task for each key group, after the end of the input and after the last timer.
        ``backend`` holds the state of the key group.
        """
