"""``RedisCommand``: a Redis command and its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.common.time import TimeAmount, milliseconds_of
from headrace.errors import PlanError, TypeMismatchError

Argument = str | bytes | int | float

_CONNECTION = "changes the connection, which serves all records of a task"
_TRANSACTION = "belongs to a transaction, which the sink itself begins and ends"
_WAITS = "waits, and all other records of the task with it; inside a transaction it does not wait"
_SERVER = "stops or moves the server, for all its clients"
_MARKERS = "removes the markers by which a sink knows what it has written"

_NOT_SENT = {
    name: reason
    for names, reason in (
        ("SELECT AUTH HELLO QUIT RESET CLIENT MONITOR ASKING READONLY READWRITE", _CONNECTION),
        ("SUBSCRIBE PSUBSCRIBE SSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE", _CONNECTION),
        ("SYNC PSYNC REPLCONF", _CONNECTION),
        ("MULTI EXEC DISCARD WATCH UNWATCH", _TRANSACTION),
        ("BLPOP BRPOP BRPOPLPUSH BLMOVE BLMPOP BZPOPMIN BZPOPMAX BZMPOP WAIT WAITAOF", _WAITS),
        ("SHUTDOWN REPLICAOF SLAVEOF FAILOVER DEBUG", _SERVER),
        ("FLUSHALL FLUSHDB SWAPDB", _MARKERS),
    )
    for name in names.split()
}
"""Commands of Redis 7 and 8 that would break a sink's transaction or a lookup's connection.

Scripts are allowed: Redis itself refuses such commands in them, and a database that a script
selects is selected for that script only."""

_BY_ARGUMENTS = {"SCRIPT": 1, "XREAD": 1, "XREADGROUP": 4}
"""Commands that are refused with certain arguments; the number is where their options begin."""


class RedisCommand:
    """A Redis command and its arguments: ``RedisCommand("SADD", "seen", 7)``.

    Arguments are str, bytes, int or float. Frequent commands have methods.

    Raises:
        TypeMismatchError: an argument has another type.
        PlanError: the command changes the connection or the transaction, blocks, stops the server,
            or removes markers.
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
        if not arguments or not isinstance(arguments[0], str) or not arguments[0].strip():
            raise TypeMismatchError("a command of Redis must begin with its name, a str")
        _check_allowed(arguments)
        self.arguments = arguments

    @staticmethod
    def set(key: Argument, value: Argument, *, expires: TimeAmount | None = None) -> RedisCommand:
        """SET: set the value of the key, which expires after ``expires`` (default: never)."""
        if expires is None:
            return RedisCommand("SET", key, value)
        return RedisCommand("SET", key, value, "PX", milliseconds_of(expires, at_least=1))

    @staticmethod
    def hset(key: Argument, fields: Mapping[Any, Argument]) -> RedisCommand:
        """HSET: set fields of the hash."""
        return RedisCommand("HSET", key, *_flatten_fields(fields, "HSET"))

    @staticmethod
    def hincrby(key: Argument, field: Argument, amount: int = 1) -> RedisCommand:
        """HINCRBY: add ``amount`` to a field of the hash."""
        return RedisCommand("HINCRBY", key, field, amount)

    @staticmethod
    def xadd(
        stream: Argument,
        fields: Mapping[Any, Argument],
        *,
        entry_id: str = "*",
        max_length: int | None = None,
    ) -> RedisCommand:
        """XADD: append an entry to the stream, and keep about ``max_length`` entries."""
        cut = () if max_length is None else ("MAXLEN", "~", max_length)
        return RedisCommand("XADD", stream, *cut, entry_id, *_flatten_fields(fields, "XADD"))

    @staticmethod
    def zadd(key: Argument, scores: Mapping[Any, float]) -> RedisCommand:
        """ZADD: set the scores of members of the sorted set."""
        given = [part for member, score in scores.items() for part in (score, member)]
        _flatten_fields(scores, "ZADD")
        return RedisCommand("ZADD", key, *given)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RedisCommand) and self.arguments == other.arguments

    def __hash__(self) -> int:
        return hash(self.arguments)

    def __repr__(self) -> str:
        return f"RedisCommand({', '.join(map(repr, self.arguments))})"


def _check_allowed(arguments: Sequence[Argument]) -> None:
    """Raise PlanError for a Redis command that affects more than its keys."""
    name = str(arguments[0]).upper().split()  # the client splits the name at spaces
    command = name[0]
    reason = _NOT_SENT.get(command)
    if reason is None and command in _BY_ARGUMENTS:
        words = [*name, *map(_normalize_option, arguments[1:])]
        command, reason = _by_arguments(command, words)
    if reason is not None:
        raise PlanError(
            f"{command} {reason}",
            hint="a RedisCommand reads or changes keys. The database (redis://host:6379/1) and the "
            "login belong into the URL of the sink or lookup",
        )


def _by_arguments(command: str, words: Sequence[str]) -> tuple[str, str | None]:
    """Return the command with the refused argument, and the reason.

    The reason is empty if the command is allowed.
    """
    options = words[_BY_ARGUMENTS[command] :]
    if command == "SCRIPT":
        return "SCRIPT DEBUG", _CONNECTION if options[:1] == ["DEBUG"] else None
    if "STREAMS" in options:
        options = options[: options.index("STREAMS")]
    return f"{command} with BLOCK", _WAITS if "BLOCK" in options else None


def _normalize_option(argument: Argument) -> str:
    """Return an argument in upper case, as Redis compares the names of options."""
    text = argument.decode(errors="replace") if isinstance(argument, bytes) else str(argument)
    return text.upper()


def _flatten_fields(fields: Mapping[Any, Argument], command: str) -> list[Argument]:
    if not isinstance(fields, Mapping) or not fields:
        raise TypeMismatchError(f"{command} takes a dict with at least one field, not {fields!r}")
    return [part for pair in fields.items() for part in pair]
