"""Optional packages, imported with their first use."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from headrace.errors import MissingExtraError


@cache
def optional(module: str, extra: str, purpose: str) -> Any:
    """A module of a package that an extra of Headrace brings.

    Raises:
        MissingExtraError: the package, or one that it needs, is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        missing = error.name or module
        raise MissingExtraError(
            f"{purpose} needs the package {missing.partition('.')[0]!r}, which is not installed",
            hint=f'pip install "headrace[{extra}]"; it is needed where the job runs, too',
        ) from error


def fastavro(part: str = "") -> Any:
    """The package ``fastavro``, or one of its modules."""
    return optional(f"fastavro.{part}" if part else "fastavro", "avro", "Avro")
