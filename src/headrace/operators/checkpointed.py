"""Functions with operator state: lists that belong to a subtask, not to a key.

Each element of a list is an entry in the subtask's state backend, with the key ``(list name,
subtask, position, snapshot number)`` and the list's name as slot. So the elements can be
redistributed when a savepoint is restored with another number of subtasks. Snapshot numbers rise
above those of all subtasks before, so an element that has moved to another subtask keeps a unique
key.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.common.changelog_mode import ChangelogMode
from headrace.errors import PlanError
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import Push
from headrace.runtime.operator import (
    NodeProgram,
    Operator,
    OperatorSpec,
    Outputs,
    PushWatermark,
    Traits,
)
from headrace.runtime.savepoint.read import StoredStates
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.evolution import change_of, stored_loads
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.handles.coercion import Fit, fit_of_elements
from headrace.runtime.state.kinds import NO_EVOLUTION, VALUE, StateKind
from headrace.runtime.user_function import UserFunction

_Key = tuple[str, int, int, int]
_Stored = dict[str, list[tuple[_Key, bytes]]]
"""By list name: the key of each element, and a digest of its value."""


@dataclass(frozen=True)
class CheckpointedSpec(OperatorSpec):
    """Wraps the operator that ``make`` returns for a function with operator state."""

    function: UserFunction
    make: Callable[[UserFunction], OperatorSpec]
    kind = "checkpointed"

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        """Those of the wrapped operator, with operator state."""
        return replace(self.make(self.function).traits, state=True, operator_state=True)

    @property
    def label(self) -> str:
        return self.make(self.function).label

    def accepts(self, input: int) -> ChangelogMode | None:
        return self.make(self.function).accepts(input)

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        return self.make(self.function).gives(inputs)

    def build(self) -> Operator:
        return CheckpointedOperator(self)


class OperatorListState:
    """A list state in memory; it is written to the backend after ``snapshot_state``."""

    def __init__(self, elements: Iterable[Any] = ()) -> None:
        self.elements = [*elements]
        self.fit: Fit | None = None
        self.kind: StateKind | None = None
        """How an element is stored; None until the function asks for the list."""
        self.evolution = NO_EVOLUTION

    def get(self) -> Iterator[Any]:
        """Return the elements, in order."""
        return iter([*self.elements])

    __iter__ = get

    def add(self, value: Any) -> None:
        """Append an element."""
        self.elements.append(value if self.fit is None else self.fit(value))

    def add_all(self, values: Iterable[Any]) -> None:
        """Append several elements; append none if an element does not fit the type."""
        self.elements += self._coerce_values(values)

    def update(self, values: Iterable[Any]) -> None:
        """Replace all elements."""
        self.elements = [*self._coerce_values(values)]

    def _coerce_values(self, values: Iterable[Any]) -> Iterable[Any]:
        return values if self.fit is None else [*map(self.fit, values)]

    def clear(self) -> None:
        """Remove all elements."""
        self.elements = []


class OperatorStateContext:
    """The context of ``initialize_state`` and ``snapshot_state``, and the operator state store."""

    def __init__(
        self,
        lists: dict[str, list[Any]],
        restored: bool,
        context: TaskContext,
        where: dict[str, str],
        stored: StoredStates,
    ) -> None:
        self.lists = {name: OperatorListState(elements) for name, elements in lists.items()}
        self._stored_states = stored
        self._restored, self._where, self._context = restored, where, context
        self.number = self.now_ms = 0

    def is_restored(self) -> bool:
        """Return whether state was restored from an earlier instance."""
        return self._restored

    def get_operator_state_store(self) -> OperatorStateContext:
        """Return the operator state store: this object."""
        return self

    def get_list_state(self, state_descriptor: Any) -> Any:
        """Return the list state of a descriptor."""
        name = state_descriptor.get_name()
        state = self.lists.setdefault(name, OperatorListState())
        if state.kind is None:
            declared = state_descriptor.type_info
            state.fit = fit_of_elements(declared, name)
            of_element = None if declared is None else declared.elem_type.to_data()
            state.evolution = state_descriptor._evolution
            state.kind = StateKind(VALUE, of_element, version=state.evolution.version)
            self._convert(name, state, state.kind)
        return state

    def _convert(self, name: str, state: OperatorListState, kind: StateKind) -> None:
        """Convert the elements of an earlier program; those that are stored follow."""
        before = self._stored_states.states.get(name)
        if before is not None:
            seen = self._stored_states.fields.get(name, {})
            change = change_of(name, before, kind, seen, state.evolution)
            if change is not None:
                found = map(change.apply, state.elements)
                state.elements = [element for element in found if element is not None]

    def get_union_list_state(self, state_descriptor: Any) -> Any:
        """Return the union list state of a descriptor, for operators with parallelism 1 only."""
        if self._context.get_max_number_of_parallel_subtasks() > 1:
            raise PlanError(
                f"union list state {state_descriptor.get_name()!r} needs an operator with one"
                " instance, and this one has several: each would need the elements of all",
                where=self._where,
                hint=".set_parallelism(1) after the operator",
            )
        return self.get_list_state(state_descriptor)

    def get_registered_state_names(self) -> set[str]:
        """Return the names of the list states."""
        return {*self.lists}

    def get_checkpoint_id(self) -> int:
        """Return the snapshot's number."""
        return self.number

    def get_checkpoint_timestamp(self) -> int:
        """Return the processing time (ms) of the micro-batch."""
        return self.now_ms


@dataclass
class _FunctionInstance:
    """A copy of the function, and the operator that runs it."""

    target: Any
    operator: Operator
    push: Push
    states: OperatorStateContext
    stored: _Stored


class CheckpointedOperator(Operator):
    """Runs a copy of the function, and stores its lists at the end of each task run.

    The copy is used again in the next task run if the restored state is the one that it stored
    last. Otherwise a new copy is made and initialized from the state.
    """

    def __init__(self, spec: CheckpointedSpec) -> None:
        self._spec = spec
        self._instance: _FunctionInstance | None = None
        self._stored: tuple[int, bytes] | None = None
        """Number and digest of the last snapshot of the instance; None during a task run."""
        self._had_records = False

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        """Keep the arguments, with which each instance is opened.

        The spec's function is only copied.
        """
        self.node, self.key_context, self._context = node, key_context, context
        self._where = {"operator": f"{node.name}, built at {node.site}"}

    def bind(self, outputs: Outputs) -> Push:
        self._outputs = outputs

        def push(value: Any, timestamp: int | None) -> None:
            self._had_records = True
            assert self._instance is not None, "restore() comes before records"
            self._instance.push(value, timestamp)

        return push

    def restore(self, state: Any | None) -> None:
        """Start a task run: keep the instance if it matches the state, otherwise make a new one."""
        digest, number, inner = (b"", 0, None) if state is None else state
        number = -number
        if self._instance is None or self._stored != (number, digest):
            self._end_instance()
            self._instance = self._make_instance(number, restored=state is not None)
        self._stored, self._had_records = None, False
        self._number, self._digest = number, digest
        self._instance.operator.restore(inner)

    def reopen(self) -> None:
        assert self._instance is not None, "restore() comes before reopen()"
        self._instance.operator.reopen()

    def _make_instance(self, number: int, restored: bool) -> _FunctionInstance:
        function = self._spec.function.copied()
        spec = self._spec.make(function)
        operator = spec.build()
        node = replace(self.node, spec=spec)
        found, stored = _read_lists(self.key_context.backend)
        states = OperatorStateContext(
            found,
            restored or bool(stored),
            self._context,
            self._where,
            StoredStates.of(self.key_context.backend),
        )
        states.number = number
        function.target.initialize_state(states)
        _declare_lists(states.lists, self.key_context.backend)
        operator.open(node, self._context, self.key_context)
        return _FunctionInstance(
            function.target, operator, operator.bind(self._outputs), states, stored
        )

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Pass the watermark to the operator of the instance."""
        if self._instance is None:
            push_watermark(watermark, idle)
        else:
            self._instance.operator.watermark(watermark, idle, push_watermark)

    def snapshot(self) -> Any:
        """Call ``snapshot_state`` and store the lists, if there were records."""
        instance = self._instance
        assert instance is not None, "restore() comes before snapshot()"
        node = self.node  # noqa: F841  for ``annotate``
        if self._had_records:
            states = instance.states
            self._number += 1
            states.number, states.now_ms = self._number, self.key_context.now_ms
            instance.target.snapshot_state(states)
            self._store_lists(instance)
        self._stored = (self._number, self._digest)
        # Of several headers a savepoint takes the one with the least second part.
        return self._digest, -self._number, instance.operator.snapshot()

    def _store_lists(self, instance: _FunctionInstance) -> None:
        """Write the elements that differ from the stored element at their position."""
        subtask, backend = self._context.get_index_of_this_subtask(), self.key_context.backend
        lists = instance.states.lists
        _declare_lists(lists, backend)
        stored_elements: _Stored = {}
        for name, state in lists.items():
            before, now = instance.stored.pop(name, []), stored_elements.setdefault(name, [])
            for position, element in enumerate(state.elements):
                data = pickle.dumps(element, 5)
                digest = hashlib.blake2b(data, digest_size=16).digest()
                if position < len(before):
                    key, stored_digest = before[position]
                    if stored_digest == digest and key[1:3] == (subtask, position):
                        now.append(before[position])
                        continue
                key = (name, subtask, position, self._number)
                # A copy: the function may still change its element.
                backend.enter(key)[name] = pickle.loads(data)
                backend.changed(key)
                now.append((key, digest))
            _remove_elements(backend, before, now)
        instance.stored = stored_elements
        self._digest = hashlib.blake2b(pickle.dumps(stored_elements, 5), digest_size=16).digest()

    def _end_instance(self) -> None:
        if self._instance is not None:
            ended, self._instance = self._instance, None
            ended.operator.close()

    def close(self) -> None:
        self._end_instance()


def _declare_lists(lists: Mapping[str, OperatorListState], backend: StateBackend) -> None:
    for name, state in lists.items():
        if state.kind is not None:
            backend.declare(name, state.kind, state.evolution)


def _read_lists(backend: StateBackend) -> tuple[dict[str, list[Any]], _Stored]:
    """Return the lists in a backend by name, and the keys and digests of their elements."""
    loads = stored_loads(backend.fields().values())
    entries = {key: pickle.dumps(entry[key[0]], 5) for key, entry in backend.scan()}
    lists: dict[str, list[Any]] = {}
    stored: _Stored = {}
    for key, data in sorted(entries.items()):
        lists.setdefault(key[0], []).append(loads(data))
        digest = hashlib.blake2b(data, digest_size=16).digest()
        stored.setdefault(key[0], []).append((key, digest))
    return lists, stored


def _remove_elements(
    backend: StateBackend, before: Iterable[tuple[_Key, bytes]], now: Iterable[tuple[_Key, bytes]]
) -> None:
    remaining = {key for key, _ in now}
    for key, _ in before:
        if key not in remaining:
            backend.enter(key).clear()
            backend.changed(key)
