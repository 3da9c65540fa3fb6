"""Packages of Headrace's extras, imported on first use."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from headrace.errors import MissingExtraError

_EXTRAS = {
    "confluent_kafka": ("kafka", "Kafka"),
    "confluent_kafka.schema_registry": ("registry", "a schema registry"),
    "fastavro": ("avro", "Avro"),
    "prometheus_client": ("prometheus", "A metric reporter for Prometheus"),
    "obstore": ("cloud", "storage on S3 or Azure"),
    "psycopg": ("postgres", "PostgreSQL"),
    "redis": ("redis", "Redis"),
    "sqlglot": ("sql", "SQL"),
    "starlette": ("ui", "The page of a job"),
    "uvicorn": ("ui", "The page of a job"),
}
"""By package: its extra, and what needs it, as the subject of the error message."""


def optional(module: str) -> Any:
    """Import a module of a package that belongs to an extra.

    Raises:
        MissingExtraError: the package, or one that it needs, is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        reason = str(error).strip().partition("\n")[0]
        raise _missing_extra_error(module, error.name or module, reason) from error


def check_installed(package: str) -> None:
    """Check that a package is installed, without importing the package.

    Raises:
        MissingExtraError: the package is not installed.
    """
    if find_spec(package) is None:
        raise _missing_extra_error(package, package, f"No module named {package!r}")


def _missing_extra_error(module: str, lacks: str, reason: str) -> MissingExtraError:
    extra, purpose = _EXTRAS.get(module) or _EXTRAS[module.partition(".")[0]]
    return MissingExtraError(
        f"{purpose} needs the package {lacks.partition('.')[0]!r}, which cannot be imported",
        where={"reason": reason},
        hint=f'pip install "headrace[{extra}]", where the program runs and on the workers'
        " (for a cluster, headrace package puts it into the archive)",
    )


def fastavro(part: str = "") -> Any:
    """Return the package ``fastavro``, or one of its modules."""
    return optional(f"fastavro.{part}" if part else "fastavro")


def confluent_kafka() -> Any:
    """Return the package ``confluent_kafka``, with its module ``admin``."""
    optional("confluent_kafka.admin")
    return optional("confluent_kafka")
