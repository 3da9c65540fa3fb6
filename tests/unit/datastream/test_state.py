"""State descriptors and the time to live."""

from __future__ import annotations

import datetime as dt
import pickle
from collections.abc import Iterable
from typing import Any

import cloudpickle
import pytest

from headrace.common.time import Duration, Time
from headrace.common.typeinfo import Types
from headrace.datastream.functions import AggregateFunction, ReduceFunction
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.errors import PlanError, TypeMismatchError


class Total(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1 + value2


class Mean(AggregateFunction):
    def create_accumulator(self) -> Any:
        return (0, 0)

    def add(self, value: Any, accumulator: Any) -> Any:
        return (accumulator[0] + value, accumulator[1] + 1)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return (acc_a[0] + acc_b[0], acc_a[1] + acc_b[1])


def test_descriptors() -> None:
    integer, text = Types.INT(), Types.STRING()
    assert ValueStateDescriptor("v", integer).type_info == integer
    assert ListStateDescriptor("l", integer).type_info == Types.LIST(integer)
    assert MapStateDescriptor("m", text, integer).type_info == Types.MAP(text, integer)
    any_type = Types.PICKLED_BYTE_ARRAY()
    assert MapStateDescriptor("m", text).type_info == Types.MAP(text, any_type)
    assert MapStateDescriptor("m").type_info is None
    assert ListStateDescriptor("l").type_info is ValueStateDescriptor("v").type_info is None
    assert MapStateDescriptor("m").get_name() == "m"
    assert repr(ValueStateDescriptor("v")) == "ValueStateDescriptor('v')"


@pytest.mark.parametrize("function", [Total(), lambda a, b: a + b])
def test_a_reducing_state_reduces(function: Any) -> None:
    descriptor = ReducingStateDescriptor("r", function, Types.INT())
    assert descriptor.get_reduce_function().reduce(2, 3) == 5


def test_an_aggregating_state_aggregates() -> None:
    mean = Mean()
    descriptor = AggregatingStateDescriptor("a", mean, Types.PICKLED_BYTE_ARRAY())
    assert descriptor.get_agg_function() is mean
    assert mean.get_result(mean.merge((3, 1), mean.add(5, mean.create_accumulator()))) == 4


def test_descriptors_are_checked() -> None:
    for name in ("", None, 3):
        with pytest.raises(PlanError, match="a state's name"):
            ValueStateDescriptor(name)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="'r' needs a ReduceFunction or a callable, not an int"):
        ReducingStateDescriptor("r", 3)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="'a' needs an AggregateFunction"):
        AggregatingStateDescriptor("a", Total())  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="'v': expected a StateTtlConfig"):
        ValueStateDescriptor("v").enable_time_to_live(Time.days(1))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "ttl", [Time.seconds(5), Duration.of_seconds(5), dt.timedelta(seconds=5), 5000]
)
def test_time_to_live(ttl: Any) -> None:
    config = StateTtlConfig.new_builder(ttl).build()
    assert config.get_ttl() == Time(5000) and config.is_enabled()
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    processing = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
    assert config.get_ttl_time_characteristic() is processing
    assert config.get_cleanup_strategies().is_cleanup_in_background()
    descriptor = ValueStateDescriptor("v")
    descriptor.enable_time_to_live(config)
    copy = pickle.loads(cloudpickle.dumps(descriptor))
    assert repr(copy._ttl_config) == repr(config) and "5000" in repr(config)


def test_what_a_builder_sets() -> None:
    config = (
        StateTtlConfig.new_builder(1)
        .set_ttl(Time.days(2))
        .update_ttl_on_read_and_write()
        .return_expired_if_not_cleaned_up()
        .use_event_time()
        .cleanup_full_snapshot()
        .cleanup_incrementally(10, True)
        .cleanup_in_rocksdb_compact_filter(1000)
        .disable_cleanup_in_background()
        .build()
    )
    assert config.get_ttl() == Time.days(2)
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
    assert config.get_state_visibility().name == "ReturnExpiredIfNotCleanedUp"
    assert config.get_ttl_time_characteristic().name == "EventTime"
    cleanups = config.get_cleanup_strategies()
    assert not cleanups.is_cleanup_in_background() and cleanups.in_full_snapshot()
    incremental: Any = cleanups.get_incremental_cleanup_strategy()
    assert incremental.get_cleanup_size() == 10 and incremental.run_cleanup_for_every_record()
    compaction: Any = cleanups.get_rocksdb_compact_filter_cleanup_strategy()
    assert compaction.get_query_time_after_num_entries() == 1000
    assert compaction.get_periodic_compaction_time() == Duration.of_days(30)


def test_back_to_the_defaults_and_disabled() -> None:
    builder = StateTtlConfig.new_builder(1).use_event_time().update_ttl_on_read_and_write()
    config = builder.use_processing_time().update_ttl_on_create_and_write().build()
    assert config.get_ttl_time_characteristic().name == "ProcessingTime"
    assert config.get_update_type().name == "OnCreateAndWrite"
    off = builder.set_update_type(StateTtlConfig.UpdateType.Disabled).never_return_expired()
    assert not off.build().is_enabled()


def test_a_time_to_live_is_positive() -> None:
    for ttl in (0, Time(-1), dt.timedelta(0)):
        with pytest.raises(PlanError, match="time to live"):
            StateTtlConfig.new_builder(ttl)
    with pytest.raises(TypeMismatchError, match="time to live"):
        StateTtlConfig.new_builder("1 day")  # type: ignore[arg-type]


def test_states_behave_like_collections() -> None:
    class Entries(MapState[str, int]):
        def __init__(self) -> None:
            self.entries: dict[str, int] = {}

        def clear(self) -> None:
            self.entries.clear()

        def get(self, key: str) -> int | None:
            return self.entries.get(key)

        def put(self, key: str, value: int) -> None:
            self.entries[key] = value

        def put_all(self, dict_value: dict[str, int]) -> None:
            self.entries.update(dict_value)

        def remove(self, key: str) -> None:
            self.entries.pop(key, None)

        def contains(self, key: str) -> bool:
            return key in self.entries

        def items(self) -> Iterable[tuple[str, int]]:
            return self.entries.items()

        def keys(self) -> Iterable[str]:
            return self.entries.keys()

        def values(self) -> Iterable[int]:
            return self.entries.values()

        def is_empty(self) -> bool:
            return not self.entries

    class Items(ListState[int]):
        def clear(self) -> None:
            raise NotImplementedError

        def get(self) -> Iterable[int]:
            return [1, 2]

        def add(self, value: int) -> None:
            raise NotImplementedError

        def update(self, values: list[int]) -> None:
            raise NotImplementedError

        def add_all(self, values: list[int]) -> None:
            raise NotImplementedError

    entries = Entries()
    entries["a"] = 1
    assert entries["a"] == 1 and "a" in entries and list(entries) == ["a"]
    del entries["a"]
    assert entries.is_empty()
    assert list(Items()) == [1, 2]
