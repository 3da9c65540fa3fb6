"""All keys of Flink: one that is no option here is accepted with a warning, not refused."""

from __future__ import annotations

import sys
from functools import cache
from importlib.resources import files

KEY_PREFIXES = (
    "akka.",
    "containerized.",
    "events.reporter.",
    "external-resource.",
    "flink.hadoop.",
    "flink.yarn.",
    "fs.",
    "gs.",
    "metrics.scope.",
    "oss.",
    "pekko.",
    "presto.s3.",
    "s3.",
    "s3a.",
    "sql-client.",
    "sql-gateway.",
    "state.backend.forst.",
    "table.",
    "traces.reporter.",
)
"""Beginnings of keys with a free part, such as a reporter's name or a setting of Hadoop."""

_warned: set[str] = set()


@cache
def names() -> frozenset[str]:
    """Return the keys in ``flink_keys.txt``, which ``scripts/flink_keys.py`` writes."""
    text = files(__package__).joinpath("flink_keys.txt").read_text("utf-8")
    return frozenset(line for line in text.splitlines() if not line.startswith("#"))


def is_flink_key(key: str) -> bool:
    """Return whether Flink has this key."""
    family = any(key.startswith(beginning) and key != beginning for beginning in KEY_PREFIXES)
    return family or key in names()


def warn_once(key: str) -> None:
    """Print, once in a process, that a key of Flink's has no effect."""
    if key not in _warned:
        _warned.add(key)
        print(f"headrace: {key} is a key of Flink's, and has no effect here", file=sys.stderr)
