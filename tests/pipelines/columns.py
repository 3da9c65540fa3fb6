"""Operators that take columns, as their first users: one without keys, one with keyed state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.common import Types
from headrace.common.types import Row, RowKind
from headrace.datastream.data_stream import DataStream
from headrace.datastream.state import MapStateDescriptor
from headrace.operators.keyed import StatefulOperator
from headrace.runtime.columns.batch import Columns, PushColumns
from headrace.runtime.columns.keys import ColumnKeys
from headrace.runtime.loops import Push
from headrace.runtime.operator import Operator, OperatorSpec, Outputs, Traits
from headrace.runtime.state.backend import Timer

WINDOW_MS = 100

taken = {"columns": 0, "rows": 0}
"""How many records came to the operators of this process, as columns and as rows."""


@dataclass(frozen=True)
class DoubleSpec(OperatorSpec):
    """Doubles the field ``amount``."""

    traits = Traits(takes_columns=True)
    kind = "double"
    label = "Double"

    def build(self) -> Operator:
        return _Double()


class _Double(Operator):
    def bind(self, outputs: Outputs) -> Push:
        def push(value: Any, timestamp: int | None) -> None:
            taken["rows"] += 1
            if isinstance(value, Row):
                value["amount"] *= 2
            else:
                value = {**value, "amount": value["amount"] * 2}
            outputs.main(value, timestamp)

        return push

    def bind_columns(self, outputs: Outputs) -> PushColumns:
        def push(columns: Columns) -> None:
            taken["columns"] += len(columns)
            batch = columns.batch
            at = batch.schema.get_field_index("amount")
            batch = batch.set_column(at, "amount", pc.multiply(batch.column(at), 2))
            outputs.columns(Columns(batch, columns.shape, columns.times, columns.kinds))

        return push


@dataclass(frozen=True)
class DoubleKeyedSpec(OperatorSpec):
    """Doubles the field ``amount``, at the head of a keyed stage."""

    traits = Traits(keyed=True, takes_columns=True)
    kind = "double-keyed"

    @property
    def label(self) -> str:
        return "DoubleKeyed"

    def build(self) -> Operator:
        return _DoubleKeyed()


class _DoubleKeyed(StatefulOperator):
    def bind(self, outputs: Outputs) -> Push:
        double = _Double()
        self._rows, self._columns = double.bind(outputs), double.bind_columns(outputs)
        return self.reject_record

    def process(self, keys: Any, values: Any, timestamps: Any) -> None:
        for value, timestamp in zip(values, timestamps or [None] * len(values), strict=True):
            self._rows(value, timestamp)

    def process_columns(self, keys: ColumnKeys, columns: Columns) -> None:
        self._columns(columns)

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        raise AssertionError("it sets none")


@dataclass(frozen=True)
class WindowSumsSpec(OperatorSpec):
    """The sum of ``amount`` by key and 100 ms; a row that is deleted counts against it.

    Emits ``(key, end of the window, sum)`` when the watermark passes the end.
    """

    traits = Traits(keyed=True, state=True, event_timers=True, event_time=True, takes_columns=True)
    kind = "window-sums"
    label_: str = "WindowSums"
    only_columns: bool = False

    @property
    def label(self) -> str:
        return self.label_

    def build(self) -> Operator:
        return _WindowSums(self.only_columns)


class _WindowSums(StatefulOperator):
    def __init__(self, only_columns: bool) -> None:
        self._only_columns = only_columns

    def open(self, node: Any, context: Any, key_context: Any) -> None:
        super().open(node, context, key_context)
        self._sums = context.get_map_state(MapStateDescriptor("sums", Types.LONG(), Types.LONG()))

    def bind(self, outputs: Outputs) -> Push:
        self._main = outputs.main
        return self.reject_record

    def process(self, keys: Any, values: Any, timestamps: Any) -> None:
        assert not self._only_columns, "rows came"
        taken["rows"] += len(values)
        for key, value, timestamp in zip(keys, values, timestamps, strict=True):
            deleted = isinstance(value, Row) and value.get_row_kind() is RowKind.DELETE
            amount = value["amount"]
            self._add(key, timestamp // WINDOW_MS, -amount if deleted else amount)

    def process_columns(self, keys: ColumnKeys, columns: Columns) -> None:
        taken["columns"] += len(columns)
        windows = columns.times.to_numpy() // WINDOW_MS
        amounts = columns.batch.column("amount").to_numpy()
        if columns.kinds is not None:
            amounts = np.where(columns.kinds == RowKind.DELETE.value, -amounts, amounts)
        table = pa.table({"key": keys.codes, "window": windows, "amount": amounts})
        sums = table.group_by(["key", "window"], use_threads=False).aggregate([("amount", "sum")])
        for code, window, amount in zip(
            *(sums.column(name).to_pylist() for name in ("key", "window", "amount_sum")),
            strict=True,
        ):
            self._add(keys.distinct[code], window, amount)

    def _add(self, key: Any, window: int, amount: int) -> None:
        self.key_context.enter(key)
        end = (window + 1) * WINDOW_MS - 1
        self._sums.put(end, (self._sums.get(end) or 0) + amount)
        self.key_context.backend.event_timers.register(Timer(end, key))

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        self.key_context.enter_timer(timer, is_event_time)
        total = self._sums.get(timer.time_ms)
        self._sums.remove(timer.time_ms)
        self._main((timer.key, timer.time_ms, total), timer.time_ms)


def adding(stream: DataStream, spec: OperatorSpec) -> DataStream:
    """A stream after an operator."""
    from headrace.datastream._build.call_site import call_site

    inputs = stream._keyed_edges() if spec.traits.keyed else stream._edges
    return stream._add(spec, call_site(), spec.kind, inputs=inputs)
