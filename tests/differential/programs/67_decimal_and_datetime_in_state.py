"""Decimal, datetime and None inside rows, tuples and state.

compare: ordered_by_key:0
parallelism: 2
mode: streaming, batch
"""

from datetime import datetime, timedelta
from decimal import Decimal

from pyflink.common import Row, Types
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor


class Ledger(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        pickled = Types.PICKLED_BYTE_ARRAY()
        self.balance = runtime_context.get_state(ValueStateDescriptor("balance", pickled))
        self.days = runtime_context.get_map_state(MapStateDescriptor("days", pickled, pickled))

    def process_element(self, value, ctx):
        balance = (self.balance.value() or Decimal("0.00")) + value.amount
        self.balance.update(balance)
        day = value.at.date()
        self.days.put(day, (self.days.get(day) or ()) + ((value.at, value.note),))
        yield value.account, balance, sorted(self.days.items()), value.at + timedelta(days=1)


def build(env: StreamExecutionEnvironment) -> DataStream:
    noon = datetime(2024, 2, 28, 12)
    rows = [
        Row(account="a", amount=Decimal("10.10"), at=noon, note=None),
        Row(account="b", amount=Decimal("1e3"), at=noon, note="x"),
        Row(account="a", amount=Decimal("-0.10"), at=noon + timedelta(hours=13), note="y"),
    ]
    return env.from_collection(rows).key_by(lambda row: row.account).process(Ledger())
