"""Marks parts of PyFlink's API that a program may call, and that have no effect here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def no_effect(reason: str) -> Callable[[F], F]:
    """Mark a function or class that has no effect here.

    ``reason`` says why, for docs/api-coverage.md and for ``headrace check``.
    """

    def mark(target: F) -> F:
        target.__no_effect__ = reason  # type: ignore[attr-defined]
        return target

    return mark


def no_effect_reason(target: object) -> str | None:
    """Return the reason given to ``no_effect``, or None if ``target`` is not marked."""
    reason = getattr(target, "__dict__", {}).get("__no_effect__")
    return reason if isinstance(reason, str) else None
