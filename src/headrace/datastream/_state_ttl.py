"""How long keyed state lives after it was written or read."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from headrace.common.time import Duration, Time, TimeAmount, milliseconds_of

__all__ = ["StateTtlConfig"]


class StateTtlConfig:
    """A time to live for one state; made by ``StateTtlConfig.new_builder(ttl)``."""

    class UpdateType(Enum):
        """What renews the time to live."""

        Disabled = 0
        OnCreateAndWrite = 1
        OnReadAndWrite = 2

    class StateVisibility(Enum):
        """Whether an expired value may still be seen until it is removed."""

        ReturnExpiredIfNotCleanedUp = 0
        NeverReturnExpired = 1

    class TtlTimeCharacteristic(Enum):
        """Which clock counts. EventTime, the record's or timer's timestamp, is Headrace's own."""

        ProcessingTime = 0
        EventTime = 1

    class CleanupStrategies:
        """Which of Flink's clean-ups a program asked for.

        They are kept to be read; expired state is always removed by timers here.
        """

        class Strategies(Enum):
            """The kinds of clean-up."""

            FULL_STATE_SCAN_SNAPSHOT = 0
            INCREMENTAL_CLEANUP = 1
            ROCKSDB_COMPACTION_FILTER = 2

        class CleanupStrategy:
            """One clean-up with its settings."""

        class EmptyCleanupStrategy(CleanupStrategy):
            """A clean-up without settings."""

        class IncrementalCleanupStrategy(CleanupStrategy):
            """Clean-up of a few entries at each access."""

            def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
                self._cleanup_size = cleanup_size
                self._run_cleanup_for_every_record = run_cleanup_for_every_record

            def get_cleanup_size(self) -> int:
                """How many entries are looked at."""
                return self._cleanup_size

            def run_cleanup_for_every_record(self) -> bool:
                """True when every record triggers it."""
                return self._run_cleanup_for_every_record

        class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
            """Clean-up while RocksDB compacts."""

            def __init__(
                self,
                query_time_after_num_entries: int,
                periodic_compaction_time: TimeAmount | None = None,
            ) -> None:
                self._query_time_after_num_entries = query_time_after_num_entries
                self._periodic_compaction_time = periodic_compaction_time

            def get_query_time_after_num_entries(self) -> int:
                """After how many entries the clock is read anew."""
                return self._query_time_after_num_entries

            def get_periodic_compaction_time(self) -> TimeAmount:
                """How often files are compacted; 30 days unless set."""
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
            """True unless ``disable_cleanup_in_background`` was called."""
            return self._is_cleanup_in_background

        def in_full_snapshot(self) -> bool:
            """True when ``cleanup_full_snapshot`` was called."""
            return self.Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

        def get_incremental_cleanup_strategy(
            self,
        ) -> StateTtlConfig.CleanupStrategies.CleanupStrategy | None:
            """What ``cleanup_incrementally`` was given, or None."""
            return self._strategies.get(self.Strategies.INCREMENTAL_CLEANUP)

        def get_rocksdb_compact_filter_cleanup_strategy(
            self,
        ) -> StateTtlConfig.CleanupStrategies.CleanupStrategy | None:
            """What ``cleanup_in_rocksdb_compact_filter`` was given, or None."""
            return self._strategies.get(self.Strategies.ROCKSDB_COMPACTION_FILTER)

    class Builder:
        """Collects settings; defaults: on create and write, never expired, processing time."""

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
            """This builder, with what renews the time to live."""
            self._update_type = update_type
            return self

        def update_ttl_on_create_and_write(self) -> StateTtlConfig.Builder:
            """This builder; writing renews the time to live."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

        def update_ttl_on_read_and_write(self) -> StateTtlConfig.Builder:
            """This builder; reading and writing renew the time to live."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

        def set_state_visibility(
            self, state_visibility: StateTtlConfig.StateVisibility
        ) -> StateTtlConfig.Builder:
            """This builder, with whether expired values may be seen."""
            self._visibility = state_visibility
            return self

        def return_expired_if_not_cleaned_up(self) -> StateTtlConfig.Builder:
            """This builder; an expired value is seen until it is removed."""
            return self.set_state_visibility(
                StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
            )

        def never_return_expired(self) -> StateTtlConfig.Builder:
            """This builder; an expired value is never seen."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

        def set_ttl_time_characteristic(
            self, ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic
        ) -> StateTtlConfig.Builder:
            """This builder, with the clock that counts."""
            self._characteristic = ttl_time_characteristic
            return self

        def use_processing_time(self) -> StateTtlConfig.Builder:
            """This builder; processing time counts."""
            return self.set_ttl_time_characteristic(
                StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
            )

        def use_event_time(self) -> StateTtlConfig.Builder:
            """This builder; event time counts. Beyond PyFlink."""
            return self.set_ttl_time_characteristic(StateTtlConfig.TtlTimeCharacteristic.EventTime)

        def cleanup_full_snapshot(self) -> StateTtlConfig.Builder:
            """This builder, noting the clean-up when a full snapshot is taken."""
            kinds = StateTtlConfig.CleanupStrategies
            self._strategies[kinds.Strategies.FULL_STATE_SCAN_SNAPSHOT] = (
                kinds.EmptyCleanupStrategy()
            )
            return self

        def cleanup_incrementally(
            self, cleanup_size: int, run_cleanup_for_every_record: bool
        ) -> StateTtlConfig.Builder:
            """This builder, noting the clean-up of a few entries at each access."""
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
            """This builder, noting the clean-up while RocksDB compacts."""
            kinds = StateTtlConfig.CleanupStrategies
            self._strategies[kinds.Strategies.ROCKSDB_COMPACTION_FILTER] = (
                kinds.RocksdbCompactFilterCleanupStrategy(
                    query_time_after_num_entries, periodic_compaction_time
                )
            )
            return self

        def disable_cleanup_in_background(self) -> StateTtlConfig.Builder:
            """This builder, noting that no clean-up in the background was asked for."""
            self._background = False
            return self

        def set_ttl(self, ttl: TimeAmount) -> StateTtlConfig.Builder:
            """This builder, with the time to live: more than zero milliseconds."""
            self._ttl = Time(milliseconds_of(ttl, "the time to live of a state", at_least=1))
            return self

        def build(self) -> StateTtlConfig:
            """The configuration."""
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
        """A builder; ``ttl`` is a Time, Duration, timedelta or milliseconds."""
        return StateTtlConfig.Builder(ttl)

    def get_update_type(self) -> UpdateType:
        """What renews the time to live."""
        return self._update_type

    def get_state_visibility(self) -> StateVisibility:
        """Whether expired values may be seen."""
        return self._state_visibility

    def get_ttl(self) -> Time:
        """The time to live."""
        return self._ttl

    def get_ttl_time_characteristic(self) -> TtlTimeCharacteristic:
        """The clock that counts."""
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        """True unless the update type is Disabled."""
        return self._update_type is not StateTtlConfig.UpdateType.Disabled

    def get_cleanup_strategies(self) -> CleanupStrategies:
        """The clean-ups that were asked for."""
        return self._cleanup_strategies

    def __repr__(self) -> str:
        return (
            f"StateTtlConfig({self._ttl!r}, {self._update_type.name},"
            f" {self._state_visibility.name}, {self._ttl_time_characteristic.name})"
        )
