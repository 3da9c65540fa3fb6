"""The methods that write the records of a stream to sinks, or collect them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common._arguments import require_positive
from headrace.datastream._build import execution
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.stream import Stream
from headrace.datastream._streams.closeable_iterator import CloseableIterator
from headrace.datastream._streams.data_stream_sink import DataStreamSink

if TYPE_CHECKING:
    from headrace.connector import Sink
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment


class StreamEnds(Stream):
    """A stream whose records can be written to sinks or collected by the program."""

    _env: StreamExecutionEnvironment

    def sink_to(self, sink: Sink) -> DataStreamSink:
        """Write the records to a connector's sink."""
        return DataStreamSink(self._new_sink(sink, "sink_to", call_site()))

    def add_sink(self, sink_func: Sink) -> DataStreamSink:
        """Write the records to a connector's sink, as ``sink_to`` does."""
        return DataStreamSink(self._new_sink(sink_func, "add_sink", call_site()))

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print the records; each line begins with ``sink_identifier>``, if one is given."""
        from headrace.datastream.connectors._print import PrintSink

        return DataStreamSink(
            self._new_sink(PrintSink(sink_identifier or ""), "print", call_site())
        )

    def print_to_err(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print the records to standard error; PyFlink has no such method."""
        from headrace.datastream.connectors._print import PrintSink

        sink = PrintSink(sink_identifier or "", to_stderr=True)
        return DataStreamSink(self._new_sink(sink, "print_to_err", call_site()))

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the job and return an iterator over its results.

        With ``limit``, return a list of at most that many results instead.
        """
        if limit is not None:
            require_positive(limit, "a limit")
        sinks = self._env._take_sinks(self._collecting_sink())
        results = CloseableIterator(
            *execution.execute_and_collect(
                sinks, self._env._configuration, job_execution_name, limit, self._env._listeners
            )
        )
        if limit is None:
            return results
        with results:
            return list(results)

    def explain(self) -> str:
        """Describe the plan of this stream: stages, chains, exchanges, state and timers."""
        return execution.explain((self._collecting_sink(),), self._env._configuration)
