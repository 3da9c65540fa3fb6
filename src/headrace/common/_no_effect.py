"""What a PyFlink program may call though it changes nothing here, declared with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def no_effect(reason: str) -> Callable[[F], F]:
    """Mark a function or class as taken without effect; ``reason`` says why none is needed."""

    def mark(target: F) -> F:
        target.__no_effect__ = reason  # type: ignore[attr-defined]
        return target

    return mark


def no_effect_reason(target: object) -> str | None:
    """Why a function or class has no effect, or None when it has one."""
    reason = getattr(target, "__dict__", {}).get("__no_effect__")
    return reason if isinstance(reason, str) else None
