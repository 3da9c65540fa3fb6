"""A sink that sends commands to Redis exactly once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from headrace.common._extras import optional
from headrace.common.changelog_mode import ChangelogMode
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.connector import CommitBy, CommitterContext, Sink, SinkWriter, WriterContext
from headrace.datastream._outages import Outage, is_wrong_address, retry_while_down
from headrace.datastream.connectors._external.addresses import without_secrets
from headrace.datastream.connectors._redis.client import check_url, connect, is_outage
from headrace.datastream.connectors._redis.command import RedisCommand
from headrace.errors import JobError, TypeMismatchError, WrongFunctionError

Commands = RedisCommand | Iterable[RedisCommand] | None
ERROR = b"error"
BATCH = b"batch"


@dataclass(frozen=True, repr=False)
class RedisSink(Sink):
    """Sends commands to Redis exactly once, also increments and stream entries.

    ``command`` returns the command for a record (a ``RedisCommand``), several of them, or None.
    The commands of one task and micro-batch, and a marker, are one transaction (MULTI and EXEC).
    The marker is a hash named ``markers`` + sink and partition. Another hash, ``markers`` + sink,
    has the last micro-batch of each partition. ``max_outage``: how long a task waits for a Redis
    that does not answer, before the job fails.

    Raises:
        PlanError: the URL is not a Redis URL.
        MissingExtraError: redis is not installed.
    """

    url: str
    command: Callable[[Any], Commands]
    max_outage: TimeAmount = field(default=timedelta(minutes=2), kw_only=True)
    markers: str = field(default="headrace:", kw_only=True)

    commits = CommitBy.TASK

    def __post_init__(self) -> None:
        check_url(self.url)
        milliseconds_of(self.max_outage, "max_outage", at_least=0)
        if not callable(self.command):
            raise WrongFunctionError(f"command must be a function, not {self.command!r}")
        optional("redis")

    @property
    def accepts(self) -> ChangelogMode | None:
        """None: rows of any kind are accepted; ``command`` receives the row kind."""
        return None

    @property
    def kind(self) -> str:
        return "redis"

    @property
    def locator(self) -> str:
        """The address, without its password."""
        return without_secrets(self.url)

    def __repr__(self) -> str:
        return f"RedisSink({self.locator!r}, {self.command!r})"

    def writer(self, context: WriterContext) -> SinkWriter:
        """Return a new writer; the writers of a worker process share one connection."""
        return RedisWriter(self, context)

    def last_batch(self, context: CommitterContext) -> int:
        """Return the highest micro-batch of all partitions."""
        return retry_while_down(
            lambda: self._read_highest_marker(context.sink_id), is_outage, self.outage()
        )

    def _read_highest_marker(self, sink_id: str) -> int:
        with connect(self.url) as client:
            return max(map(int, client.hvals(self.all_markers(sink_id))), default=-1)

    def outage(self) -> Outage:
        """Return a new time limit for work that waits for Redis."""
        return Outage(milliseconds_of(self.max_outage) / 1000, self.locator)

    def all_markers(self, sink_id: str) -> str:
        """Return the key of the hash with the last micro-batch of each partition."""
        return f"{self.markers}{sink_id}"


class RedisWriter(SinkWriter):
    """Collects the commands of one task, and sends them at the end of the micro-batch."""

    def __init__(self, sink: RedisSink, context: WriterContext) -> None:
        self._sink, self._context = sink, context
        self._commands: list[RedisCommand] = []
        self._refused_command: str | None = None

    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        of_record, commands = self._sink.command, self._commands
        for value in values:
            made = of_record(value)
            if isinstance(made, RedisCommand):
                commands.append(made)
            elif made is not None:
                commands += _require_commands(made, value)

    def prepare_commit(self) -> None:
        if not self._commands:
            return
        retry_while_down(self._send_transaction, self._is_temporary, self._sink.outage())
        self._commands = []

    def abort(self) -> None:
        self._commands = []

    def _is_temporary(self, error: Exception) -> bool:
        return is_outage(error) and not is_wrong_address(error, self._context)

    def _send_transaction(self) -> None:
        """Send commands and marker in one transaction, unless the marker exists.

        It may be repeated after any failure of the connection: if an earlier attempt is still in
        progress, it changes the marker, and Redis refuses this transaction.
        """
        context = self._context
        client = context.shared("client", lambda: connect(self._sink.url))
        of_all = self._sink.all_markers(context.sink_id)
        marker = f"{of_all}:{context.partition}"
        if self._refused_command is not None:
            client.hset(marker, ERROR, self._refused_command)
            raise self._partial_write_error(self._refused_command)
        with client.pipeline(transaction=True) as pipe:
            pipe.watch(marker)
            done, failed = pipe.execute_command("HMGET", marker, BATCH, ERROR)
            if done is not None and int(done) >= context.batch_id:
                if failed and int(done) == context.batch_id:
                    raise self._partial_write_error(failed.decode(errors="replace"))
                return
            pipe.multi()
            for command in self._commands:
                pipe.execute_command(*command.arguments)
            pipe.execute_command("HSET", marker, BATCH, context.batch_id, ERROR, b"")
            pipe.execute_command("HSET", of_all, context.partition, context.batch_id)
            answers = pipe.execute(raise_on_error=False)
        for command, answer in zip(self._commands, answers, strict=False):
            if isinstance(answer, Exception):
                # Redis does not roll back: it has executed the other commands and the marker. So a
                # second attempt would ignore this failure if the marker did not have the error.
                self._refused_command = f"{' '.join(map(str, command.arguments[:2]))}: {answer}"
                client.hset(marker, ERROR, self._refused_command)
                raise self._partial_write_error(self._refused_command)

    def _partial_write_error(self, command: str) -> JobError:
        context = self._context
        return JobError(
            "Redis refused a command of a transaction, and executed the others",
            where={
                "command": command,
                "sink": self._sink.locator,
                "micro-batch": f"{context.batch_id}, partition {context.partition}",
            },
            hint="correct the key or the program, and start anew without the checkpoint (--fresh)",
        )


def _require_commands(made: Any, value: Any) -> list[RedisCommand]:
    """Return ``made`` as a list; raise TypeMismatchError unless all items are Redis commands."""
    if isinstance(made, Iterable) and not isinstance(made, str | bytes):
        commands = list(made)
        if all(isinstance(command, RedisCommand) for command in commands):
            return commands
    raise TypeMismatchError(
        f"command must return a RedisCommand, several or None, not {made!r}",
        where={"record": repr(value)[:200]},
        hint="RedisCommand.hset(key, {field: value})",
    )
