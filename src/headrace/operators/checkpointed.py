"""Functions with state that belongs to an instance of the operator, and not to a key.

An instance is a subtask of a vertex. Each element of its lists is an entry of its own in the
subtask's backend, under ``(name of the list, subtask, position, number of the snapshot)``, in the
slot of the list's name, whose type is that of the elements. So elements are spread anew where the
savepoint is restored into another number of subtasks. Numbers rise above those of all instances
before, so an element that has gone to another subtask keeps a key that nobody gives again.
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
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.handles.coercion import Fit, fit_of_elements
from headrace.runtime.state.kinds import VALUE, StateKind
from headrace.runtime.user_function import UserFunction

_Key = tuple[str, int, int, int]
_Stored = dict[str, list[tuple[_Key, bytes]]]
"""By name of a list, the key of each element and a digest of its content."""


@dataclass(frozen=True)
class CheckpointedSpec(OperatorSpec):
    """The operator that ``make`` gives for a function; the function keeps state without a key."""

    function: UserFunction
    make: Callable[[UserFunction], OperatorSpec]
    kind = "checkpointed"

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        """Those of the operator inside, with state of its instances."""
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
    """A list of an instance, in memory; it is stored after ``snapshot_state``."""

    def __init__(self, elements: Iterable[Any] = ()) -> None:
        self.elements = [*elements]
        self.fit: Fit | None = None
        self.kind: StateKind | None = None
        """What an element is stored as; None: the function has not asked for the list."""

    def get(self) -> Iterator[Any]:
        """The elements, in order."""
        return iter([*self.elements])

    __iter__ = get

    def add(self, value: Any) -> None:
        """Append an element."""
        self.elements.append(value if self.fit is None else self.fit(value))

    def add_all(self, values: Iterable[Any]) -> None:
        """Append several elements: all of them, or none where one does not fit."""
        self.elements += self._coerced(values)

    def update(self, values: Iterable[Any]) -> None:
        """Replace all elements."""
        self.elements = [*self._coerced(values)]

    def _coerced(self, values: Iterable[Any]) -> Iterable[Any]:
        return values if self.fit is None else [*map(self.fit, values)]

    def clear(self) -> None:
        """Remove all elements."""
        self.elements = []


class OperatorStateContext:
    """What an instance's function sees: state store and the contexts of both methods in one."""

    def __init__(
        self,
        lists: dict[str, list[Any]],
        restored: bool,
        context: TaskContext,
        where: dict[str, str],
    ) -> None:
        self.lists = {name: OperatorListState(elements) for name, elements in lists.items()}
        self._restored, self._where, self._context = restored, where, context
        self.number = self.now_ms = 0

    def is_restored(self) -> bool:
        """Whether there was an earlier instance."""
        return self._restored

    def get_operator_state_store(self) -> OperatorStateContext:
        """The lists of this instance."""
        return self

    def get_list_state(self, state_descriptor: Any) -> Any:
        """The list of a descriptor."""
        name = state_descriptor.get_name()
        state = self.lists.setdefault(name, OperatorListState())
        if state.kind is None:
            declared = state_descriptor.type_info
            state.fit = fit_of_elements(declared, name)
            of_element = None if declared is None else declared.elem_type.to_data()
            state.kind = StateKind(VALUE, of_element)
        return state

    def get_union_list_state(self, state_descriptor: Any) -> Any:
        """The list of a descriptor; the operator has one instance, so it has all elements."""
        if self._context.get_max_number_of_parallel_subtasks() > 1:
            raise PlanError(
                f"union list state {state_descriptor.get_name()!r} needs an operator with one"
                " instance, and this one has several: each would need the elements of all",
                where=self._where,
                hint=".set_parallelism(1) after the operator",
            )
        return self.get_list_state(state_descriptor)

    def get_registered_state_names(self) -> set[str]:
        """The names of the lists."""
        return {*self.lists}

    def get_checkpoint_id(self) -> int:
        """The number of the snapshot."""
        return self.number

    def get_checkpoint_timestamp(self) -> int:
        """The processing time (ms) of the micro-batch."""
        return self.now_ms


@dataclass
class _FunctionInstance:
    """A copy of the function at work, inside the operator made for it."""

    target: Any
    operator: Operator
    push: Push
    states: OperatorStateContext
    stored: _Stored


class CheckpointedOperator(Operator):
    """Runs an instance of the function; what it keeps is stored at the end of each call.

    An instance that is still here from the call before goes on, if the state is what it had stored.
    Else another one is made from the state.
    """

    def __init__(self, spec: CheckpointedSpec) -> None:
        self._spec = spec
        self._instance: _FunctionInstance | None = None
        self._stored: tuple[int, bytes] | None = None
        """Number and digest of the snapshot that the instance took last; None within a call."""
        self._had_records = False

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        """Keep what instances are opened with; the function itself is only their template."""
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
        """Begin a call: with the instance that is here, or with one made from the state."""
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
        states = OperatorStateContext(found, restored or bool(stored), self._context, self._where)
        states.number = number
        function.target.initialize_state(states)
        _declare_lists(states.lists, self.key_context.backend)
        operator.open(node, self._context, self.key_context)
        return _FunctionInstance(
            function.target, operator, operator.bind(self._outputs), states, stored
        )

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Hand the watermark to the operator of the instance."""
        if self._instance is None:
            push_watermark(watermark, idle)
        else:
            self._instance.operator.watermark(watermark, idle, push_watermark)

    def snapshot(self) -> Any:
        """Take the function's snapshot, if there were records, and store its lists."""
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
        # Of several headers the savepoint takes that with the least second part.
        return self._digest, -self._number, instance.operator.snapshot()

    def _store_lists(self, instance: _FunctionInstance) -> None:
        """Write the elements that differ from what is stored at their places."""
        subtask, backend = self._context.get_index_of_this_subtask(), self.key_context.backend
        lists = instance.states.lists
        _declare_lists(lists, backend)
        kept: _Stored = {}
        for name, state in lists.items():
            before, now = instance.stored.pop(name, []), kept.setdefault(name, [])
            for position, element in enumerate(state.elements):
                data = pickle.dumps(element, 5)
                digest = hashlib.blake2b(data, digest_size=16).digest()
                if position < len(before):
                    key, stored_digest = before[position]
                    if stored_digest == digest and key[1:3] == (subtask, position):
                        now.append(before[position])
                        continue
                key = (name, subtask, position, self._number)
                # What is stored is nobody's to change.
                backend.enter(key)[name] = pickle.loads(data)
                backend.changed(key)
                now.append((key, digest))
            _remove_elements(backend, before, now)
        instance.stored = kept
        self._digest = hashlib.blake2b(pickle.dumps(kept, 5), digest_size=16).digest()

    def _end_instance(self) -> None:
        if self._instance is not None:
            ended, self._instance = self._instance, None
            ended.operator.close()

    def close(self) -> None:
        self._end_instance()


def _declare_lists(lists: Mapping[str, OperatorListState], backend: StateBackend) -> None:
    for name, state in lists.items():
        if state.kind is not None:
            backend.declare(name, state.kind)


def _read_lists(backend: StateBackend) -> tuple[dict[str, list[Any]], _Stored]:
    """The lists in a backend by name, and what is stored of each."""
    entries = {key: pickle.dumps(entry[key[0]], 5) for key, entry in backend.scan()}
    lists: dict[str, list[Any]] = {}
    stored: _Stored = {}
    for key, data in sorted(entries.items()):
        lists.setdefault(key[0], []).append(pickle.loads(data))
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
