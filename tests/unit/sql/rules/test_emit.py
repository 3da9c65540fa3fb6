"""Which windows give early and late results, and what the options must say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.errors import HeadraceError
from headrace.operators.columns.emit_strategy import EmitStrategy
from headrace.sql.rel import Calc, Column, Rel, Scan, WindowAggregate, WindowSpec, reference
from headrace.sql.rules.emit import EmitOptions, with_emit_strategies
from headrace.sql.types import TimestampType

SCAN = Scan(("c", "d", "t"), (Column("ts", TimestampType(3, "rowtime")),))
END = Column("e", TimestampType(3, nullable=False))
SPEC = WindowSpec("TUMBLE", "ts", 10, grouped=True)
WINDOW = WindowAggregate(SCAN, SPEC, (), (), ((END, "end"),))


def emit_of(options: EmitOptions, window: WindowAggregate = WINDOW) -> EmitStrategy | None:
    made: Rel = with_emit_strategies(Calc(window, ("e",), (reference(END),)), options)
    assert isinstance(made, Calc) and isinstance(made.input, WindowAggregate)
    return made.input.emit


def test_only_what_is_enabled_counts() -> None:
    assert emit_of(EmitOptions(early_ms=5, late_ms=5, lateness_ms=10)) is None
    assert emit_of(EmitOptions(early=True, early_ms=5, lateness_ms=10)) == EmitStrategy(5)
    late = EmitOptions(late=True, late_ms=0, lateness_ms=10)
    assert emit_of(late) == EmitStrategy(None, 0, 10)
    assert emit_of(replace(late, lateness_ms=None, ttl_ms=7)) == EmitStrategy(None, 0, 7)


def test_no_row_is_late_by_processing_time() -> None:
    window = replace(WINDOW, window=replace(SPEC, processing_time=True))
    assert emit_of(EmitOptions(late=True, late_ms=0, lateness_ms=10), window) is None
    both = EmitOptions(True, 0, late=True, late_ms=0, lateness_ms=10)
    assert emit_of(both, window) == EmitStrategy(0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (EmitOptions(early=True), "needs table.exec.emit.early-fire.delay"),
        (EmitOptions(late=True, lateness_ms=10), "needs table.exec.emit.late-fire.delay"),
        (EmitOptions(late=True, late_ms=0), "needs table.exec.emit.allow-lateness"),
        (EmitOptions(late=True, late_ms=20, lateness_ms=10), "is longer than"),
    ],
)
def test_what_the_options_must_say(options: EmitOptions, message: str) -> None:
    with pytest.raises(HeadraceError, match=message):
        emit_of(options)


@pytest.mark.parametrize(
    ("window", "message"),
    [
        (replace(WINDOW, window=replace(SPEC, grouped=False)), "window table functions"),
        (replace(WINDOW, window=replace(SPEC, kind="SESSION")), "with SESSION"),
        (replace(WINDOW, attached=True), "a second aggregation over windows"),
    ],
)
def test_windows_that_give_results_at_their_end_only(window: WindowAggregate, message: str) -> None:
    with pytest.raises(HeadraceError, match=message):
        emit_of(EmitOptions(early=True, early_ms=0), window)
