"""The options of planning, from a configuration."""

from __future__ import annotations

import pytest

from headrace.common.configuration import Configuration
from headrace.table._planning.options import PlanningOptions, time_zone_of


def options(**settings: str) -> PlanningOptions:
    return PlanningOptions.of(Configuration.from_dict(settings))


def test_by_default_state_has_no_end_and_nulls_are_errors() -> None:
    made = options()
    assert (made.batch, made.mini_batch, made.ttl_ms, made.drops_nulls) == (False, False, 0, False)
    assert (made.materialize, made.time_zone) == ("AUTO", "UTC")


@pytest.mark.parametrize(
    ("key", "value", "field", "expected"),
    [
        ("execution.runtime-mode", "BATCH", "batch", True),
        ("table.exec.mini-batch.enabled", "true", "mini_batch", True),
        ("table.exec.state.ttl", "2 h", "ttl_ms", 7_200_000),
        ("table.exec.sink.not-null-enforcer", "DROP", "drops_nulls", True),
        ("table.exec.sink.upsert-materialize", "FORCE", "materialize", "FORCE"),
        ("table.exec.source.cdc-events-duplicate", "true", "duplicates", True),
        ("table.exec.source.idle-timeout", "2 s", "idle_ms", 2_000),
        ("table.local-time-zone", "Asia/Tokyo", "time_zone", "Asia/Tokyo"),
    ],
)
def test_each_option_is_read(key: str, value: str, field: str, expected: object) -> None:
    assert getattr(options(**{key: value}), field) == expected


def test_windows_keep_results_as_long_as_state() -> None:
    assert options(**{"table.exec.state.ttl": "3 s"}).emit.ttl_ms == 3_000


def test_the_default_zone_is_utc() -> None:
    zone = {"table.local-time-zone": "default"}
    assert time_zone_of(Configuration.from_dict(zone)) == "UTC"
