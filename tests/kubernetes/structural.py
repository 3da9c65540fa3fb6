"""Checks objects against structural schemas, as Kubernetes' API server does for custom resources.

A schema has ``type``, ``properties``, ``required``, ``items``, ``additionalProperties``, ``enum``,
``pattern``; ``{}`` takes anything. A field that no property names is a problem, as with kubectl's
strict validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_TYPES: Mapping[str, type] = {
    "array": list,
    "boolean": bool,
    "integer": int,
    "object": dict,
    "string": str,
}


def problems(value: Any, schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield what is wrong with a value, each with the path of its field."""
    if not schema:
        return
    kind = schema["type"]
    if not isinstance(value, _TYPES[kind]) or (kind == "integer" and isinstance(value, bool)):
        yield f"{path}: {value!r} is no {kind}"
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is not one of {', '.join(schema['enum'])}"
    elif "pattern" in schema and not re.fullmatch(schema["pattern"], value):
        yield f"{path}: {value!r} does not match {schema['pattern']}"
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from problems(each, schema["items"], f"{path}[{index}]")
    elif isinstance(value, dict):
        yield from _problems_of_fields(value, schema, path)


def _problems_of_fields(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path}: {name} is missing"
    for name, each in value.items():
        below = f"{path}.{name}".lstrip(".")
        if name in known:
            yield from problems(each, known[name], below)
        elif "additionalProperties" in schema:
            yield from problems(each, schema["additionalProperties"], below)
        else:
            yield f"{below}: there is no such field"
