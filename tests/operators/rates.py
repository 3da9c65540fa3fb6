"""An operator with two inputs that takes the columns of both: amounts, and the rate of each key.

An amount is multiplied by the latest rate of its key, or by 1 before there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.operators.keyed import StatefulOperator
from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.keys import ColumnKeys
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import Push
from headrace.runtime.operator import (
    NodeProgram,
    Operator,
    OperatorSpec,
    Outputs,
    ProcessBlock,
    ProcessColumns,
    Traits,
)
from headrace.runtime.state.backend import Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import RESERVED_NAMES

RATE = RESERVED_NAMES + "rate"

came = {"columns": [0, 0], "rows": [0, 0]}
"""How many records came to the operators of this process, by input."""


@dataclass(frozen=True)
class RatesSpec(OperatorSpec):
    """Gives the amounts of the first input, as dicts with a key ``user`` and an ``amount``."""

    traits = Traits(keyed=True, state=True, inputs=2, takes_columns=True)
    kind = "rates"

    @property
    def label(self) -> str:
        """The operator's default name."""
        return "Rates"

    def build(self) -> Operator:
        """A new operator."""
        return RatesOperator()


class RatesOperator(StatefulOperator):
    """Keeps the latest rate of each key."""

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        """Say what is kept."""
        super().open(node, context, key_context)
        assert context.states is not None, "the operator is keyed"
        context.states.declare(RATE)

    def bind_inputs(self, outputs: Outputs) -> tuple[Push, ...]:
        """Keyed operators take blocks; see ``processors``."""
        self._outputs = outputs
        return (self.reject_record, self.reject_record)

    def processors(self) -> tuple[ProcessBlock, ...]:
        """For amounts, and for rates."""
        return self.process, self._rates

    def column_processors(self) -> tuple[ProcessColumns, ...]:
        """For amounts, and for rates."""
        return self.process_columns, self._rate_columns

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Multiply amounts."""
        came["rows"][0] += len(values)
        for key, value, stamp in zip(keys, values, timestamps or [None] * len(keys), strict=True):
            rate = self.key_context.backend.enter(key).get(RATE, 1)
            self._outputs.main({**value, "amount": value["amount"] * rate}, stamp)

    def process_columns(self, keys: ColumnKeys, columns: Columns) -> None:
        """Multiply a column of amounts."""
        came["columns"][0] += len(columns)
        backend = self.key_context.backend
        rates = np.array([backend.enter(key).get(RATE, 1) for key in keys.distinct])[keys.codes]
        at = columns.batch.schema.get_field_index("amount")
        amounts = columns.batch.column(at).to_numpy() * rates
        batch = columns.batch.set_column(at, "amount", pa.array(amounts))
        self._outputs.columns(Columns(batch, columns.shape, columns.times))

    def _rates(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        came["rows"][1] += len(values)
        for key, value in zip(keys, values, strict=True):
            self._set(key, value["rate"])

    def _rate_columns(self, keys: ColumnKeys, columns: Columns) -> None:
        came["columns"][1] += len(columns)
        for key, rate in zip(keys, columns.batch.column("rate").to_pylist(), strict=True):
            self._set(key, rate)

    def _set(self, key: Any, rate: int) -> None:
        self.key_context.backend.enter(key)[RATE] = rate
        self.key_context.backend.changed(key)

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """It sets none."""
