"""Packages that come with an extra of Headrace, imported with their first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from headrace.errors import MissingExtraError

_EXTRAS = {
    "confluent_kafka": ("kafka", "Kafka"),
    "confluent_kafka.schema_registry": ("registry", "a schema registry"),
    "fastavro": ("avro", "Avro"),
    "psycopg": ("postgres", "PostgreSQL"),
    "redis": ("redis", "Redis"),
}
"""The extra that brings a package, and what needs it: the subject of the error's sentence."""


def optional(module: str) -> Any:
    """The module, of one of the packages that an extra brings.

    Raises:
        MissingExtraError: the package, or one that it needs, is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        extra, purpose = _EXTRAS.get(module) or _EXTRAS[module.partition(".")[0]]
        missing = (error.name or module).partition(".")[0]
        raise MissingExtraError(
            f"{purpose} needs the package {missing!r}, which cannot be imported",
            where={"reason": str(error).strip().partition("\n")[0]},
            hint=f'pip install "headrace[{extra}]", where the program runs and on the workers',
        ) from error


def fastavro(part: str = "") -> Any:
    """The package ``fastavro``, or one of its modules."""
    return optional(f"fastavro.{part}" if part else "fastavro")


def confluent_kafka() -> Any:
    """The package ``confluent_kafka``, with its module ``admin``."""
    optional("confluent_kafka.admin")
    return optional("confluent_kafka")
