"""Commands to Redis, as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.common.time import TimeAmount, milliseconds_of
from headrace.errors import TypeMismatchError

Argument = str | bytes | int | float


class RedisCommand:
    """A command and its arguments: ``RedisCommand("SADD", "seen", 7)``.

    Arguments are texts, bytes, ints and floats. For commands that are often used there are methods.

    Raises:
        TypeMismatchError: an argument is something else.
    """

    __slots__ = ("arguments",)

    def __init__(self, *arguments: Argument) -> None:
        for argument in arguments:
            if not isinstance(argument, str | bytes | int | float) or isinstance(argument, bool):
                raise TypeMismatchError(
                    f"Redis takes str, bytes, int and float, not {argument!r}",
                    where={"command": " ".join(map(str, arguments[:2]))},
                    hint="convert it first; a list or a dict with json.dumps()",
                )
        if not arguments or not isinstance(arguments[0], str):
            raise TypeMismatchError("a command of Redis must begin with its name, a str")
        self.arguments = arguments

    @staticmethod
    def set(key: Argument, value: Argument, *, expires: TimeAmount | None = None) -> RedisCommand:
        """SET: the key has this value; for so long, if ``expires`` is given."""
        if expires is None:
            return RedisCommand("SET", key, value)
        return RedisCommand("SET", key, value, "PX", milliseconds_of(expires, at_least=1))

    @staticmethod
    def hset(key: Argument, fields: Mapping[Any, Argument]) -> RedisCommand:
        """HSET: these fields of the hash have these values."""
        return RedisCommand("HSET", key, *_flat(fields, "HSET"))

    @staticmethod
    def hincrby(key: Argument, field: Argument, amount: int = 1) -> RedisCommand:
        """HINCRBY: the field of the hash grows by an amount."""
        return RedisCommand("HINCRBY", key, field, amount)

    @staticmethod
    def xadd(
        stream: Argument,
        fields: Mapping[Any, Argument],
        *,
        entry_id: str = "*",
        max_length: int | None = None,
    ) -> RedisCommand:
        """XADD: a new entry at the end of the stream, which keeps about ``max_length`` of them."""
        cut = () if max_length is None else ("MAXLEN", "~", max_length)
        return RedisCommand("XADD", stream, *cut, entry_id, *_flat(fields, "XADD"))

    @staticmethod
    def zadd(key: Argument, scores: Mapping[Any, float]) -> RedisCommand:
        """ZADD: these members of the sorted set have these scores."""
        given = [part for member, score in scores.items() for part in (score, member)]
        _flat(scores, "ZADD")
        return RedisCommand("ZADD", key, *given)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RedisCommand) and self.arguments == other.arguments

    def __hash__(self) -> int:
        return hash(self.arguments)

    def __repr__(self) -> str:
        return f"RedisCommand({', '.join(map(repr, self.arguments))})"


def _flat(fields: Mapping[Any, Argument], command: str) -> list[Argument]:
    if not isinstance(fields, Mapping) or not fields:
        raise TypeMismatchError(f"{command} takes a dict with a field or more, not {fields!r}")
    return [part for pair in fields.items() for part in pair]
