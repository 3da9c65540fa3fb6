"""The status of configuration keys."""

from __future__ import annotations

from typing import Any

from headrace.cli.check.catalogue import ACCEPTED, UNSUPPORTED, WORKS, Finding
from headrace.common._options import catalogue as options
from headrace.common._options import flink_keys
from headrace.errors import ConfigurationError


def finding_of_key(key: str, value: Any = None) -> Finding:
    """Return whether a key works, is accepted without effect, or is unknown.

    ``value``: what the program sets it to; None: not known. A value that is refused does not work.
    """
    option = options.find(key)
    if option is not None:
        try:
            if value is not None:
                option.parse(value)
        except ConfigurationError as error:
            return Finding(option, UNSUPPORTED, f"{value!r} is refused: {error.hint}")
        reason = option.description.removeprefix("No effect: ")
        return Finding(option, WORKS) if option.has_effect else Finding(option, ACCEPTED, reason)
    family = next((p for p in options.PREFIXES if key.startswith(p) and key != p), None)
    if family is not None:
        text = options.PREFIXES[family]
        ours = family == options.SPARK_CONF_PREFIX
        return (
            Finding(None, WORKS)
            if ours
            else Finding(None, ACCEPTED, text.removeprefix("No effect: "))
        )
    if flink_keys.is_flink_key(key):
        return Finding(None, ACCEPTED, "a key of Flink's without effect here")
    try:
        options.check(key, "")
    except ConfigurationError as error:
        return Finding(None, UNSUPPORTED, f"no known key: {error.hint}")
    return Finding(None, WORKS)
