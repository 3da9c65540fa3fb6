"""Options ``scan.watermark.*`` of tables."""

from __future__ import annotations

import pytest

from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.errors import SqlValidationError, UnsupportedError
from headrace.sql.rel import Calc, Scan
from headrace.table._planning.lowering.watermarks import (
    strategy_of,
    with_options_of_table,
)


def with_options(**options: str) -> WatermarkStrategy:
    given = tuple((f"scan.watermark.{key}", value) for key, value in options.items())
    scan = Scan(("c", "d", "orders"), (), given)
    return with_options_of_table(strategy_of(0), Calc(scan, (), ()))


def with_option(key: str, value: str) -> WatermarkStrategy:
    return with_options(**{key: value})


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
    assert with_options_of_table(strategy_of(0), scan, idle_ms).idle_timeout_ms == expected


def test_watermarks_of_each_row_are_those_of_a_period() -> None:
    for how in ("on-event", "on-periodic"):
        assert with_option("emit.strategy", how).idle_timeout_ms is None


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("idle-timeout", "soon", SqlValidationError),
        ("emit.strategy", "never", SqlValidationError),
        ("alignment.max-drift", "far", SqlValidationError),
        ("alignment.paused", "true", UnsupportedError),
    ],
)
def test_other_options_are_refused(key: str, value: str, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=key):
        with_option(key, value)


GROUP = {"alignment.group": "g", "alignment.max-drift": "1 min"}


def test_tables_of_one_group_are_aligned() -> None:
    assert with_options(**GROUP).alignment == ("g", 60_000, 1_000)
    often = with_options(**GROUP, **{"alignment.update-interval": "200 ms"})
    assert often.alignment == ("g", 60_000, 200)
    assert with_options(**GROUP, **{"idle-timeout": "1 s"}).idle_timeout_ms == 1_000


@pytest.mark.parametrize("left_out", GROUP)
def test_a_group_and_a_drift_belong_together(left_out: str) -> None:
    given = {**GROUP, "alignment.update-interval": "1 s"}
    del given[left_out]
    with pytest.raises(SqlValidationError, match=f"needs the option 'scan.watermark.{left_out}'"):
        with_options(**given)
