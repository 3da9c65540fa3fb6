"""Options ``scan.watermark.*`` of tables."""

from __future__ import annotations

import pytest

from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.errors import SqlValidationError, UnsupportedError
from headrace.sql.rel import Calc, Scan
from headrace.table._planning.lowering.watermarks import (
    strategy_of,
    with_idleness_by_default,
    with_options_of_table,
)


def with_option(key: str, value: str) -> WatermarkStrategy:
    scan = Scan(("c", "d", "orders"), (), ((f"scan.watermark.{key}", value),))
    return with_options_of_table(strategy_of(0), Calc(scan, (), ()))


def test_an_idle_split_does_not_hold_watermarks_back() -> None:
    assert with_option("idle-timeout", "2 s").idle_timeout_ms == 2_000
    assert with_option("idle-timeout", "0 ms").idle_timeout_ms == strategy_of(0).idle_timeout_ms


@pytest.mark.parametrize(
    ("options", "idle_ms", "expected"),
    [
        ((), 3_000, 3_000),
        ((), 0, None),
        ((("scan.watermark.idle-timeout", "2 s"),), 3_000, 2_000),
        ((("scan.watermark.idle-timeout", "0 ms"),), 3_000, None),
    ],
)
def test_the_timeout_of_a_table_counts_more_than_that_of_all(
    options: tuple[tuple[str, str], ...], idle_ms: int, expected: int | None
) -> None:
    scan = Calc(Scan(("c", "d", "orders"), (), options), (), ())
    strategy = with_idleness_by_default(strategy_of(0), scan, idle_ms)
    assert with_options_of_table(strategy, scan).idle_timeout_ms == expected


def test_watermarks_of_each_row_are_those_of_a_period() -> None:
    for how in ("on-event", "on-periodic"):
        assert with_option("emit.strategy", how).idle_timeout_ms is None


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("idle-timeout", "soon", SqlValidationError),
        ("emit.strategy", "never", SqlValidationError),
        ("alignment.group", "g", UnsupportedError),
        ("emit.on-event.gap", "3", UnsupportedError),
    ],
)
def test_other_options_are_refused(key: str, value: str, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=key):
        with_option(key, value)
