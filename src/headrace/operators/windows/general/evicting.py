"""Windows with an evictor: records are stored with timestamps, and folded when the window fires."""

from __future__ import annotations

from typing import Any

from headrace.common._windows import TimestampedValue
from headrace.common.typeinfo import Types
from headrace.operators.windows.contents import Contents, Elements
from headrace.operators.windows.contexts import FiringContext
from headrace.operators.windows.general.operator import WindowOperator
from headrace.runtime.context import TaskContext
from headrace.runtime.operator import NodeProgram
from headrace.runtime.record_copies import copy_record
from headrace.runtime.state.handles import KeyContext


class EvictingWindowOperator(WindowOperator):
    """As Flink's ``EvictingWindowOperator``: evicted elements are removed from the state."""

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        assert self._spec.evictor is not None, "the spec has an evictor"
        self._evictor = self._spec.evictor.target
        self._evictor_context = FiringContext(key_context, context)

    def _stored_contents_spec(self) -> Contents:
        of_record = self._spec.contents.record_type
        pair = None if of_record is None else Types.TUPLE([of_record, Types.LONG()])
        return Elements(None, record_type=pair)

    def _add(self, value: Any, timestamp: int | None) -> None:
        self._contents.add((value, timestamp))

    def _fire(self, window: Any, keeps_state: bool) -> None:
        elements = [TimestampedValue(*pair) for pair in self._contents.get()]
        if not elements:
            return
        evictor, context = self._evictor, self._evictor_context
        evictor.evict_before(elements, len(elements), window, context)
        values = [copy_record(element.get_value()) for element in elements]
        self._emit_results(window, self._spec.contents.inputs_from_records(values))
        evictor.evict_after(elements, len(elements), window, context)
        self._contents.update([one.as_pair() for one in elements])
