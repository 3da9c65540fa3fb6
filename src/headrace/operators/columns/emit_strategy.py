"""When windows give early and late results."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EmitStrategy:
    """When a window gives results before its end, and after it for late rows.

    ``early_ms``, ``late_ms``: how often, by processing time, after the first row; 0: with each row;
    None: not at all. ``lateness_ms``: how long after its end a window accepts late rows.
    """

    early_ms: int | None = None
    late_ms: int | None = None
    lateness_ms: int = 0

    def __str__(self) -> str:
        parts = []
        for word, delay_ms in (("early", self.early_ms), ("late", self.late_ms)):
            if delay_ms is not None:
                parts.append(f"{word} {f'every {delay_ms} ms' if delay_ms else 'with each row'}")
        return ", ".join(parts)
