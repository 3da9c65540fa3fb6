"""JSON as Python values, and paths into it: lax $.a.b[0], strict $['a'][*], $..name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from headrace.errors import SqlError
from headrace.sql.functions.text_formats import java_double

_MODE = re.compile(r"\s*(?:(strict|lax)\s+)?(.*)", re.IGNORECASE | re.DOTALL)
_STEP = re.compile(
    r"""\s*(?:
        (?P<deep>\.\.)(?P<deep_name>[\w-]+|\*)
      | \.\s*(?P<name>[^.\[\s()'"]+)
      | \.?\s*\[\s*(?P<quoted>'(?:[^'\\]|\\.)*'(?:\s*,\s*'(?:[^'\\]|\\.)*')*
                      |"(?:[^"\\]|\\.)*"(?:\s*,\s*"(?:[^"\\]|\\.)*")*)\s*\]
      | \[\s*(?P<indices>-?\d+(?:\s*,\s*-?\d+)*)\s*\]
      | \[\s*(?P<slice>-?\d*\s*:\s*-?\d*)\s*\]
      | \[\s*(?P<any>\*)\s*\]
    )\s*""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Step:
    """A step of a path: fields by name, elements by number, a part of an array, or all.

    ``deep``: it is done at every depth.
    """

    names: tuple[str, ...] = ()
    indices: tuple[int, ...] = ()
    part: tuple[int | None, int | None] | None = None
    deep: bool = False

    @property
    def definite(self) -> bool:
        """Whether the step leads to one value at most."""
        return not self.deep and len(self.names) + len(self.indices) == 1


@dataclass(frozen=True)
class Path:
    """A path with its mode; ``strict``: what is not there is an error."""

    strict: bool
    steps: tuple[Step, ...]

    @property
    def definite(self) -> bool:
        """Whether the path leads to one value at most; else to an array of all values."""
        return all(each.definite for each in self.steps)


@lru_cache(maxsize=1000)
def read_path(text: str) -> Path:
    """Return the path that a text says."""
    match = _MODE.fullmatch(text)
    assert match is not None
    mode, spec = match.groups()
    spec = spec.strip()
    if not spec.startswith("$"):
        raise SqlError(f"the JSON path {text!r} does not begin with $")
    steps, position = [], 1
    while position < len(spec):
        found = _STEP.match(spec, position)
        if found is None:
            raise SqlError(
                f"the JSON path {text!r} is not supported at {spec[position:]!r}",
                hint="names, numbers, slices, * and .. are supported; filters are not",
            )
        steps.append(_step(found))
        position = found.end()
    return Path((mode or "strict").lower() == "strict", tuple(steps))


def _step(found: re.Match[str]) -> Step:
    if found["deep"]:
        name = found["deep_name"]
        return Step(names=() if name == "*" else (name,), deep=True)
    if found["name"]:
        return Step() if found["name"] == "*" else Step(names=(found["name"],))
    if found["quoted"]:
        parts = re.findall(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", found["quoted"])
        return Step(names=tuple(re.sub(r"\\(.)", r"\1", one or two) for one, two in parts))
    if found["indices"]:
        return Step(indices=tuple(int(each) for each in found["indices"].split(",")))
    if found["slice"]:
        start, _, end = (each.strip() for each in found["slice"].partition(":"))
        return Step(part=(int(start) if start else None, int(end) if end else None))
    return Step()


def parse(text: str) -> Any:
    """Return the value of a JSON text; raises ``ValueError`` if it is none."""
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def follow(value: Any, path: Path) -> tuple[bool, Any]:
    """Return whether a path leads to a value, and the value (a list of all if indefinite)."""
    values = [value]
    for step in path.steps:
        values = [found for each in values for found in _follow(each, step)]
        if not values and step.definite and (path.strict or path.definite):
            return False, None
    return True, values[0] if path.definite else values


def _follow(value: Any, step: Step) -> Iterator[Any]:
    if step.deep:
        for each in _all(value):
            if not step.names:
                yield each
            elif isinstance(each, dict):
                yield from (each[name] for name in step.names if name in each)
    elif step.names:
        if isinstance(value, dict):
            if len(step.names) > 1:
                yield {name: value[name] for name in step.names if name in value}
            elif step.names[0] in value:
                yield value[step.names[0]]
    elif step.indices:
        if isinstance(value, list):
            size = len(value)
            yield from (value[index] for index in step.indices if -size <= index < size)
    elif step.part is not None:
        if isinstance(value, list):
            yield from value[slice(*step.part)]
    elif isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _all(value: Any) -> Iterator[Any]:
    yield value
    inside = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict | list):
        for each in inside:
            yield from _all(each)


def write(value: Any) -> str:
    """Return the JSON text of a value, without blanks."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return java_double(value)
        case Decimal():
            return str(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case RawJson():
            return value.text
        case dict():
            pairs = (f"{json.dumps(k, ensure_ascii=False)}:{write(v)}" for k, v in value.items())
            return "{" + ",".join(pairs) + "}"
    return "[" + ",".join(map(write, value)) + "]"


def in_order(value: Any) -> Any:
    """Return a value with the fields of all objects sorted by name."""
    match value:
        case dict():
            return {key: in_order(value[key]) for key in sorted(value)}
        case list():
            return [in_order(each) for each in value]
    return value


@dataclass(frozen=True)
class RawJson:
    """A part that is JSON text already."""

    text: str
