"""The options of an environment that change how statements are planned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from headrace.common._options import catalogue as options
from headrace.common._options.table import (
    ALLOW_LATENESS,
    DUPLICATES,
    EARLY_FIRE,
    EARLY_FIRE_DELAY,
    LATE_FIRE,
    LATE_FIRE_DELAY,
    MINI_BATCH,
    NOT_NULL_ENFORCER,
    SOURCE_IDLE_TIMEOUT,
    STATE_TTL,
    TIME_ZONE,
    UPSERT_MATERIALIZE,
)
from headrace.common.configuration import Configuration
from headrace.sql.rules.conflicts import Materialize
from headrace.sql.rules.emit import EmitOptions
from headrace.table._functions.asynchronous import AsyncSettings


def is_batch(configuration: Configuration) -> bool:
    """Return whether statements run as batches."""
    return options.read(configuration, options.RUNTIME_MODE) == "BATCH"


def time_zone_of(configuration: Configuration) -> str:
    """Return the time zone of TIMESTAMP_LTZ."""
    zone = options.read(configuration, TIME_ZONE)
    return "UTC" if zone == "default" else zone


@dataclass(frozen=True)
class PlanningOptions:
    """How plans become streams and sinks.

    ``time_zone``: that of TIMESTAMP_LTZ. ``duplicates``: whether tables of changes may deliver a
    change twice. ``idle_ms``: after how long without rows a split counts as idle; 0: never, unless
    its table says so. ``ttl_ms``: how long state is kept after its last change; 0: without end, as
    in a batch.
    ``materialize``: whether sinks keep the rows of their key. ``drops_nulls``: whether rows with
    NULL in a column that is NOT NULL are dropped; otherwise the job fails.
    """

    batch: bool
    time_zone: str
    mini_batch: bool
    duplicates: bool
    idle_ms: int
    ttl_ms: int
    materialize: Materialize
    drops_nulls: bool
    async_settings: AsyncSettings
    emit: EmitOptions

    @classmethod
    def of(cls, configuration: Configuration) -> Self:
        """Return the options as they are set now."""
        batch = is_batch(configuration)
        ttl_ms = 0 if batch else options.read(configuration, STATE_TTL)
        return cls(
            batch=batch,
            time_zone=time_zone_of(configuration),
            mini_batch=options.read(configuration, MINI_BATCH),
            duplicates=options.read(configuration, DUPLICATES),
            idle_ms=options.read(configuration, SOURCE_IDLE_TIMEOUT),
            ttl_ms=ttl_ms,
            materialize=options.read(configuration, UPSERT_MATERIALIZE),
            drops_nulls=options.read(configuration, NOT_NULL_ENFORCER) == "DROP",
            async_settings=AsyncSettings.of(configuration),
            emit=EmitOptions(
                options.read(configuration, EARLY_FIRE),
                options.read(configuration, EARLY_FIRE_DELAY),
                options.read(configuration, LATE_FIRE),
                options.read(configuration, LATE_FIRE_DELAY),
                options.read(configuration, ALLOW_LATENESS),
                ttl_ms,
            ),
        )
