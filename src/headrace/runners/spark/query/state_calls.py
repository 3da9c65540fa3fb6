"""Pipelined calls to Spark's state store: many requests are sent before their answers are read.

A single call waits about 0.4 ms for the JVM's answer, and a small micro-batch makes more calls than
it has records. So the reads that a stage's call needs are sent together, and so are its writes at
the end of the call. This uses the socket and the messages of PySpark's client of a map state. They
are not public, but the same in Spark 4.2 and 4.3. If they are not found, each call waits for its
answer.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from pyspark.errors import PySparkRuntimeError
from pyspark.serializers import read_int

MAX_IN_FLIGHT = 64
"""The number of calls that are sent before their answers are read. The requests of 64 reads, and
the answers of 64 writes, fit into the buffers of a socket, so no side blocks."""

PENDING_BYTES = 4 << 20
"""If the buffered writes have more bytes than this, they are sent before the end of the call."""

_MISSING = 2
"""The status of an answer without a value: the record does not exist."""


class StateCalls(ABC):
    """The records of one bucket in Spark's state store, by name."""

    @abstractmethod
    def get(self, name: str) -> bytes | None:
        """Return a record; None if there is none."""

    @abstractmethod
    def put(self, name: str, data: bytes) -> None:
        """Store a record, at the latest when ``flush`` returns."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a record, if there is one, at the latest when ``flush`` returns."""

    def prefetch(self, names: Iterable[str]) -> None:
        """Read records that later calls of ``get`` will probably need. By default do nothing."""

    def flush(self) -> None:
        """Send all buffered changes, and wait until they are stored. By default do nothing."""


def state_calls(pages: Any) -> StateCalls:
    """Return the calls for a map state of Spark: pipelined if PySpark's client allows it."""
    client = getattr(pages, "_mapStateClient", None)
    processor = getattr(client, "_stateful_processor_api_client", None)
    connection, name = getattr(processor, "sockfile", None), getattr(pages, "_stateName", None)
    if connection is None or name is None:
        return SingleCalls(pages)
    return PipelinedCalls(connection, name)


class SingleCalls(StateCalls):
    """Calls of PySpark's public methods, each of which waits for its answer."""

    def __init__(self, pages: Any) -> None:
        self._pages = pages

    def get(self, name: str) -> bytes | None:
        row = self._pages.getValue((name,))
        return None if row is None else bytes(row[0])

    def put(self, name: str, data: bytes) -> None:
        self._pages.updateValue((name,), (data,))

    def remove(self, name: str) -> None:
        self._pages.removeKey((name,))


class PipelinedCalls(StateCalls):
    """Calls over the socket of PySpark's client; at most ``MAX_IN_FLIGHT`` wait for answers."""

    def __init__(self, connection: Any, state: str) -> None:
        import pyspark.sql.streaming.proto.StateMessage_pb2 as messages

        self._messages: Any = messages
        self._connection, self._state = connection, state
        self._pending: dict[str, bytes | None] = {}
        self._pending_bytes = 0
        self._fetched: dict[str, bytes | None] = {}

    def get(self, name: str) -> bytes | None:
        if name in self._pending:
            return self._pending[name]
        if name not in self._fetched:
            self.prefetch([name])
        return self._fetched.pop(name)

    def put(self, name: str, data: bytes) -> None:
        self._change(name, data)

    def remove(self, name: str) -> None:
        self._change(name, None)

    def _change(self, name: str, data: bytes | None) -> None:
        self._fetched.pop(name, None)
        self._pending_bytes -= len(self._pending.get(name) or b"")
        self._pending[name] = data
        self._pending_bytes += len(data or b"")
        if self._pending_bytes > PENDING_BYTES:
            self.flush()

    def prefetch(self, names: Iterable[str]) -> None:
        names = [name for name in names if name not in self._pending]
        requests = (self._request(getValue=self._get_value(name)) for name in names)
        for name, answer in zip(names, self._answers(requests), strict=True):
            if answer.statusCode not in (0, _MISSING):
                raise PySparkRuntimeError(f"Error getting value: {answer.errorMessage}")
            found = answer.value if answer.statusCode == 0 else b""
            self._fetched[name] = bytes(pickle.loads(found)[0]) if found else None

    def flush(self) -> None:
        pending, self._pending, self._pending_bytes = self._pending, {}, 0
        messages = self._messages
        requests = (
            self._request(removeKey=messages.RemoveKey(userKey=_pickled(name)))
            if data is None
            else self._request(
                updateValue=messages.UpdateValue(userKey=_pickled(name), value=_pickled(data))
            )
            for name, data in pending.items()
        )
        for answer in self._answers(requests):
            if answer.statusCode != 0:
                raise PySparkRuntimeError(f"Error updating map state value: {answer.errorMessage}")

    def _get_value(self, name: str) -> Any:
        return self._messages.GetValue(userKey=_pickled(name))

    def _request(self, **call: Any) -> bytes:
        messages = self._messages
        of_map = messages.MapStateCall(stateName=self._state, **call)
        of_variable = messages.StateVariableRequest(mapStateCall=of_map)
        request: bytes = messages.StateRequest(stateVariableRequest=of_variable).SerializeToString()
        return request

    def _answers(self, requests: Iterable[bytes]) -> Iterator[Any]:
        """Send requests, and yield their answers in order."""
        remaining = iter(requests)
        while part := [*islice(remaining, MAX_IN_FLIGHT)]:
            # Read all answers before checking one: an error must leave no answer in the socket.
            yield from self._exchange(part)

    def _exchange(self, requests: Sequence[bytes]) -> list[Any]:
        connection = self._connection
        connection.write(
            b"".join(_VERSION + len(each).to_bytes(4, "big") + each for each in requests)
        )
        connection.flush()
        answers = []
        for _ in requests:
            answer = self._messages.StateResponse()
            length: int = read_int(connection)  # type: ignore[no-untyped-call]
            answer.ParseFromString(connection.read(length))
            answers.append(answer)
        return answers


_VERSION = b"\0\0\0\0"
"""The version of the protocol, before each request."""


def _pickled(value: Any) -> bytes:
    """Return a value as PySpark sends a row with one field."""
    return pickle.dumps((value,), 5)
