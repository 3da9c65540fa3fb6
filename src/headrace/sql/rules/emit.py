"""Early and late results of the windows of GROUP BY: ``table.exec.emit.*``."""

from __future__ import annotations

from dataclasses import dataclass, replace

from headrace.errors import SqlValidationError
from headrace.operators.columns.emit_strategy import EmitStrategy
from headrace.sql.refusals import refuse
from headrace.sql.rel import Rel, WindowAggregate, with_inputs

_KEYS = "table.exec.emit."


@dataclass(frozen=True)
class EmitOptions:
    """The options ``table.exec.emit.*``, in ms; None: not set.

    ``ttl_ms``: of state; it is the lateness if no lateness is set.
    """

    early: bool = False
    early_ms: int | None = None
    late: bool = False
    late_ms: int | None = None
    lateness_ms: int | None = None
    ttl_ms: int = 0

    def of_window(self, rel: WindowAggregate) -> EmitStrategy | None:
        """Return when a window gives early and late results; None: never.

        Raises:
            SqlValidationError: a delay, or the lateness, is missing or does not fit.
            UnsupportedError: such windows give results only at their end.
        """
        if not rel.window.grouped:
            refuse(f"{_KEYS}early-fire or {_KEYS}late-fire with window table functions")
        if rel.window.kind == "SESSION":
            refuse(f"{_KEYS}early-fire or {_KEYS}late-fire with SESSION")
        if rel.attached:
            refuse(f"a second aggregation over windows with {_KEYS}early-fire")
        early_ms = _delay("early", self.early_ms) if self.early else None
        late_ms = _delay("late", self.late_ms) if self.late else None
        if late_ms is None:
            return EmitStrategy(early_ms)
        lateness_ms = self.ttl_ms if self.lateness_ms is None else self.lateness_ms
        processing_time = rel.window.processing_time
        if not lateness_ms and not processing_time:
            raise SqlValidationError(
                f"{_KEYS}late-fire.enabled needs {_KEYS}allow-lateness:"
                " without it no late row is accepted"
            )
        if late_ms > lateness_ms:
            raise SqlValidationError(
                f"{_KEYS}late-fire.delay ({late_ms} ms) is longer than {_KEYS}allow-lateness"
                f" ({lateness_ms} ms)"
            )
        if processing_time:
            return None if early_ms is None else EmitStrategy(early_ms)  # no row is late
        return EmitStrategy(early_ms, late_ms, lateness_ms)


def _delay(word: str, delay_ms: int | None) -> int:
    if delay_ms is None:
        raise SqlValidationError(
            f"{_KEYS}{word}-fire.enabled needs {_KEYS}{word}-fire.delay", hint="0 s: with each row"
        )
    return delay_ms


def with_emit_strategies(rel: Rel, options: EmitOptions) -> Rel:
    """Return the plan of a stream with the options applied to its windows."""
    if not (options.early or options.late):
        return rel
    rel = with_inputs(rel, tuple(with_emit_strategies(each, options) for each in rel.inputs))
    if isinstance(rel, WindowAggregate):
        rel = replace(rel, emit=options.of_window(rel))
    return rel
