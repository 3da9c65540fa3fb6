"""Patterns as data, and the conditions that they name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from headrace.cep._pattern_reader import (
    RegisteredCondition,
    StageReader,
    check_keys,
    check_size,
)
from headrace.cep.pattern import Pattern
from headrace.common.types import Row
from headrace.errors import MalformedPatternError
from headrace.operators.patterns.automaton import Automaton
from headrace.operators.patterns.compiler import compile_stages
from headrace.operators.patterns.skips import Skip
from headrace.runtime.user_function import UserFunction

_PATTERN_KEYS = ("id", "version", "about", "stages", "skip", "remove")


@dataclass(frozen=True)
class RegisteredConditions:
    """The conditions of a registry, which patterns that are data name."""

    by_name: Mapping[str, RegisteredCondition]

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        """The user's functions in conditions."""
        return tuple(each.function for each in self.by_name.values())

    def copied(self) -> RegisteredConditions:
        """Return a copy with its own user functions, for one task."""
        copied = {}
        for name, each in self.by_name.items():
            fields = {**vars(each), "function": each.function.copied()}
            copied[name] = RegisteredCondition(**fields)
        return RegisteredConditions(copied)

    def read(self, given: Any) -> tuple[str, dict[str, Any] | None]:
        """Return the id and the data of a record; None: the pattern is taken away.

        Raises:
            MalformedPatternError: the record is not of that form.
        """
        data = as_plain(given)
        pattern_id = data.get("id")
        if not isinstance(pattern_id, str) or not pattern_id:
            raise MalformedPatternError(
                f"a pattern has an id, which is a text, not {pattern_id!r:.60}"
            )
        pattern_id.encode()  # a text that cannot be written is refused here
        check_keys(data, _PATTERN_KEYS, f"pattern {pattern_id!r}")
        is_removed = data.get("remove", False)
        if not isinstance(is_removed, bool):
            raise MalformedPatternError(
                f"pattern {pattern_id!r}: 'remove' is {is_removed!r:.60}, and not true or false"
            )
        if is_removed and "stages" in data:
            raise MalformedPatternError(
                f"pattern {pattern_id!r} has stages, and is to be removed",
                hint="give its id and remove only",
            )
        return pattern_id, None if is_removed else data

    def to_text(self, data: dict[str, Any]) -> str:
        """Return data as JSON; equal data give equal text."""
        return _json(data)

    def from_text(self, text: str) -> dict[str, Any]:
        """Return data of their JSON."""
        data: dict[str, Any] = json.loads(text)
        return data

    def from_record(self, given: Any) -> Pattern:
        """Return the valid pattern of a record.

        Raises:
            MalformedPatternError: the record is no pattern, or takes one away.
        """
        pattern_id, data = self.read(given)
        if data is None:
            raise MalformedPatternError(
                f"pattern {pattern_id!r} is to be removed: it has no stages"
            )
        self.compile(data)
        return self.pattern(data)

    def pattern(self, data: dict[str, Any]) -> Pattern:
        """Return the pattern of data.

        Raises:
            MalformedPatternError: the data are not of that form, or the pattern is not valid.
        """
        check_size(data)
        reader = StageReader(f"pattern {data['id']!r}", self.by_name)
        try:
            return reader.pattern(data.get("stages"), reader.skip(data.get("skip")))
        except MalformedPatternError as error:
            raise reader.named(error) from None

    def warnings(self, data: dict[str, Any]) -> list[str]:
        """Return what of a valid pattern is probably not meant."""
        return self.pattern(data)._advice()

    def compile(self, data: dict[str, Any]) -> tuple[Automaton, Skip]:
        """Return the automaton of a pattern and its skip strategy.

        Raises:
            MalformedPatternError: the pattern is not valid.
        """
        pattern = self.pattern(data)
        try:
            return compile_stages(pattern._stages()), pattern._skip._skip
        except MalformedPatternError as error:
            raise StageReader(f"pattern {data['id']!r}", {}).named(error) from None


def as_plain(given: Any) -> dict[str, Any]:
    """Return a record as what JSON has: a dict, a ``Row`` with names, or JSON itself.

    Raises:
        MalformedPatternError: it is something else.
    """
    try:
        if isinstance(given, str | bytes | bytearray):
            data = json.loads(given, parse_constant=_reject_constant)
        else:
            named = given.as_dict(recursive=True) if isinstance(given, Row) else given
            data = json.loads(_json(named)) if isinstance(named, dict) else named
    except (TypeError, ValueError) as error:
        raise MalformedPatternError(f"a pattern is data as JSON has: {error}") from error
    if not isinstance(data, dict):
        raise MalformedPatternError(
            f"a pattern is a dict, a Row with names, or a JSON object, not {given!r:.100}"
        )
    return data


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _json(data: Any) -> str:
    return json.dumps(data, allow_nan=False, sort_keys=True, separators=(",", ":"))
