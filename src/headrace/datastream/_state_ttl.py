"""``StateTtlConfig``: the time to live of keyed state."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from headrace.common.time import Duration, Time, TimeAmount, milliseconds_of

__all__ = ["StateTtlConfig"]


class StateTtlConfig:
    """The time to live of a state's values; made by ``StateTtlConfig.new_builder(ttl)``."""

    class UpdateType(Enum):
        """Which accesses renew the time to live."""

        Disabled = 0
        OnCreateAndWrite = 1
        OnReadAndWrite = 2

    class StateVisibility(Enum):
        """Whether an expired value can still be read until it is removed."""

        ReturnExpiredIfNotCleanedUp = 0
        NeverReturnExpired = 1

    class TtlTimeCharacteristic(Enum):
        """Which clock expires values; PyFlink has only ProcessingTime.

        EventTime compares the timestamps of records and timers.
        """

        ProcessingTime = 0
        EventTime = 1

    class CleanupStrategies:
        """The configured clean-ups of Flink, stored so that a program can read them back.

        They have no effect on Spark: timers remove expired state.
        """

        class Strategies(Enum):
            """The clean-ups of Flink; they have no effect on Spark."""

            FULL_STATE_SCAN_SNAPSHOT = 0
            INCREMENTAL_CLEANUP = 1
            ROCKSDB_COMPACTION_FILTER = 2

        class CleanupStrategy:
            """The base of clean-ups and their settings."""

        class EmptyCleanupStrategy(CleanupStrategy):
            """A clean-up without settings."""

        class IncrementalCleanupStrategy(CleanupStrategy):
            """Clean-up of a few entries at each access; it has no effect on Spark."""

            def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
                self._cleanup_size = cleanup_size
                self._run_cleanup_for_every_record = run_cleanup_for_every_record

            def get_cleanup_size(self) -> int:
                """Return the number of entries to check at each access."""
                return self._cleanup_size

            def run_cleanup_for_every_record(self) -> bool:
                """Return True if each record triggers the clean-up."""
                return self._run_cleanup_for_every_record

        class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
            """Clean-up while RocksDB compacts its files; it has no effect on Spark."""

            def __init__(
                self,
                query_time_after_num_entries: int,
                periodic_compaction_time: TimeAmount | None = None,
            ) -> None:
                self._query_time_after_num_entries = query_time_after_num_entries
                self._periodic_compaction_time = periodic_compaction_time

            def get_query_time_after_num_entries(self) -> int:
                """Return the number of entries after which the clock is read again."""
                return self._query_time_after_num_entries

            def get_periodic_compaction_time(self) -> TimeAmount:
                """Return the interval between compactions (default 30 days)."""
                if self._periodic_compaction_time is None:
                    return Duration.of_days(30)
                return self._periodic_compaction_time

        def __init__(
            self,
            strategies: Mapping[Strategies, CleanupStrategy],
            is_cleanup_in_background: bool,
        ) -> None:
            self._strategies = dict(strategies)
            self._is_cleanup_in_background = is_cleanup_in_background

        def is_cleanup_in_background(self) -> bool:
            """Return whether expired state is removed in the background (default True)."""
            return self._is_cleanup_in_background

        def in_full_snapshot(self) -> bool:
            """Return True if ``cleanup_full_snapshot`` was called."""
            return self.Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

        def get_incremental_cleanup_strategy(
            self,
        ) -> StateTtlConfig.CleanupStrategies.CleanupStrategy | None:
            """Return the settings of ``cleanup_incrementally``, or None if it was not called."""
            return self._strategies.get(self.Strategies.INCREMENTAL_CLEANUP)

        def get_rocksdb_compact_filter_cleanup_strategy(
            self,
        ) -> StateTtlConfig.CleanupStrategies.CleanupStrategy | None:
            """Return the settings of ``cleanup_in_rocksdb_compact_filter``, or None."""
            return self._strategies.get(self.Strategies.ROCKSDB_COMPACTION_FILTER)

    class Builder:
        """Builds a ``StateTtlConfig``.

        Defaults: OnCreateAndWrite, NeverReturnExpired, ProcessingTime.
        """

        def __init__(self, ttl: TimeAmount) -> None:
            self.set_ttl(ttl)
            self._update_type = StateTtlConfig.UpdateType.OnCreateAndWrite
            self._visibility = StateTtlConfig.StateVisibility.NeverReturnExpired
            self._characteristic = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
            self._background = True
            self._strategies: dict[
                StateTtlConfig.CleanupStrategies.Strategies,
                StateTtlConfig.CleanupStrategies.CleanupStrategy,
            ] = {}

        def set_update_type(self, update_type: StateTtlConfig.UpdateType) -> StateTtlConfig.Builder:
            """Set which accesses renew the time to live."""
            self._update_type = update_type
            return self

        def update_ttl_on_create_and_write(self) -> StateTtlConfig.Builder:
            """Renew the time to live when a value is written (the default)."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

        def update_ttl_on_read_and_write(self) -> StateTtlConfig.Builder:
            """Renew the time to live when a value is read or written."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

        def set_state_visibility(
            self, state_visibility: StateTtlConfig.StateVisibility
        ) -> StateTtlConfig.Builder:
            """Set whether expired values can still be read until they are removed."""
            self._visibility = state_visibility
            return self

        def return_expired_if_not_cleaned_up(self) -> StateTtlConfig.Builder:
            """Let expired values be read until they are removed."""
            return self.set_state_visibility(
                StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
            )

        def never_return_expired(self) -> StateTtlConfig.Builder:
            """Hide expired values (the default)."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

        def set_ttl_time_characteristic(
            self, ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic
        ) -> StateTtlConfig.Builder:
            """Set which clock expires values."""
            self._characteristic = ttl_time_characteristic
            return self

        def use_processing_time(self) -> StateTtlConfig.Builder:
            """Expire values by processing time (the default)."""
            return self.set_ttl_time_characteristic(
                StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
            )

        def use_event_time(self) -> StateTtlConfig.Builder:
            """Expire values by event time; PyFlink does not support this."""
            return self.set_ttl_time_characteristic(StateTtlConfig.TtlTimeCharacteristic.EventTime)

        def cleanup_full_snapshot(self) -> StateTtlConfig.Builder:
            """Store this clean-up; it has no effect on Spark, where timers remove expired state."""
            kinds = StateTtlConfig.CleanupStrategies
            self._strategies[kinds.Strategies.FULL_STATE_SCAN_SNAPSHOT] = (
                kinds.EmptyCleanupStrategy()
            )
            return self

        def cleanup_incrementally(
            self, cleanup_size: int, run_cleanup_for_every_record: bool
        ) -> StateTtlConfig.Builder:
            """Store this clean-up; it has no effect on Spark, where timers remove expired state."""
            kinds = StateTtlConfig.CleanupStrategies
            self._strategies[kinds.Strategies.INCREMENTAL_CLEANUP] = (
                kinds.IncrementalCleanupStrategy(cleanup_size, run_cleanup_for_every_record)
            )
            return self

        def cleanup_in_rocksdb_compact_filter(
            self,
            query_time_after_num_entries: int,
            periodic_compaction_time: TimeAmount | None = None,
        ) -> StateTtlConfig.Builder:
            """Store this clean-up; it has no effect on Spark, where timers remove expired state."""
            kinds = StateTtlConfig.CleanupStrategies
            self._strategies[kinds.Strategies.ROCKSDB_COMPACTION_FILTER] = (
                kinds.RocksdbCompactFilterCleanupStrategy(
                    query_time_after_num_entries, periodic_compaction_time
                )
            )
            return self

        def disable_cleanup_in_background(self) -> StateTtlConfig.Builder:
            """Store the setting; it has no effect on Spark, where timers remove expired state."""
            self._background = False
            return self

        def set_ttl(self, ttl: TimeAmount) -> StateTtlConfig.Builder:
            """Set the time to live; at least 1 ms."""
            self._ttl = Time(milliseconds_of(ttl, "the time to live of a state", at_least=1))
            return self

        def build(self) -> StateTtlConfig:
            """Return the configuration."""
            return StateTtlConfig(
                self._update_type,
                self._visibility,
                self._characteristic,
                self._ttl,
                StateTtlConfig.CleanupStrategies(self._strategies, self._background),
            )

    def __init__(
        self,
        update_type: UpdateType,
        state_visibility: StateVisibility,
        ttl_time_characteristic: TtlTimeCharacteristic,
        ttl: TimeAmount,
        cleanup_strategies: CleanupStrategies,
    ) -> None:
        self._update_type = update_type
        self._state_visibility = state_visibility
        self._ttl_time_characteristic = ttl_time_characteristic
        self._ttl = Time(milliseconds_of(ttl, "the time to live of a state", at_least=1))
        self._cleanup_strategies = cleanup_strategies

    @staticmethod
    def new_builder(ttl: TimeAmount) -> StateTtlConfig.Builder:
        """Return a builder; ``ttl`` is a Time, Duration, timedelta or milliseconds."""
        return StateTtlConfig.Builder(ttl)

    def get_update_type(self) -> UpdateType:
        """Return which accesses renew the time to live."""
        return self._update_type

    def get_state_visibility(self) -> StateVisibility:
        """Return whether expired values can still be read."""
        return self._state_visibility

    def get_ttl(self) -> Time:
        """Return the time to live."""
        return self._ttl

    def get_ttl_time_characteristic(self) -> TtlTimeCharacteristic:
        """Return which clock expires values."""
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        """Return True unless the update type is Disabled."""
        return self._update_type is not StateTtlConfig.UpdateType.Disabled

    def get_cleanup_strategies(self) -> CleanupStrategies:
        """Return the configured clean-ups; they have no effect on Spark."""
        return self._cleanup_strategies

    def __repr__(self) -> str:
        return (
            f"StateTtlConfig({self._ttl!r}, {self._update_type.name},"
            f" {self._state_visibility.name}, {self._ttl_time_characteristic.name})"
        )
