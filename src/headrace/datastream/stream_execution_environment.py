"""``StreamExecutionEnvironment``: makes sources, has the job's settings, and runs the job."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headrace._lazy_exports import lazy_exports
from headrace.common._arguments import require_identifier, with_article
from headrace.common.configuration import Configuration
from headrace.common.io import InputFormat
from headrace.common.typeinfo import TypeInformation, Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream._build import execution
from headrace.datastream._build import nodes as build
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.job_settings import JobSettings, environment_settings
from headrace.datastream._build.node_list import NodeList
from headrace.datastream._build.pickling import require_picklable
from headrace.datastream.data_stream import DataStream
from headrace.errors import PlanError, UnsupportedError
from headrace.graph.transformation import (
    CacheTransformation,
    CallSite,
    SourceTransformation,
)
from headrace.tracebacks import install_excepthook, trim_tracebacks

if TYPE_CHECKING:
    from headrace.common.job_client import JobClient
    from headrace.common.job_execution_result import JobExecutionResult
    from headrace.connector import Source
    from headrace.metrics._operator_counts import JobListener

__all__ = ["StreamExecutionEnvironment"]

if not TYPE_CHECKING:  # type checkers find names in their defining modules
    __getattr__ = lazy_exports(__name__)


class StreamExecutionEnvironment(JobSettings, NodeList):
    """The graph and the configuration of a program."""

    def __init__(self, configuration: Configuration | None = None) -> None:
        # a copy: later changes of the given object must not affect this job
        self._configuration = environment_settings()
        if configuration is not None:
            self._configuration.add_all(configuration)
        install_excepthook()
        NodeList.__init__(self)
        self._listeners: list[JobListener] = []

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None,
    ) -> StreamExecutionEnvironment:
        """Return a new environment."""
        return StreamExecutionEnvironment(configuration)

    # Sources

    def from_collection(
        self, collection: Iterable[Any], type_info: TypeInformation | None = None
    ) -> DataStream:
        """Return a stream of the elements, in order."""
        from headrace.datastream.connectors._collection import CollectionSource

        site = call_site()
        if isinstance(collection, str | bytes) or not isinstance(collection, Iterable):
            raise PlanError(
                f"from_collection() takes a list or another iterable, not {collection!r:.100}",
                where={"called": str(site)},
            )
        values = tuple(collection)
        build.check_type(type_info, "from_collection")
        # only one value is checked, as pickling the whole collection twice would be slow
        require_picklable(values[:1], "the collection", "from_collection", site)
        source = CollectionSource(values, type_info)
        return self._add_source_node(source, None, "Collection", type_info, site, "from_collection")

    def from_data(self, *data: Any, type_info: TypeInformation | None = None) -> DataStream:
        """Return a stream of the arguments, in order; from Flink's Java API, not in PyFlink."""
        return self.from_collection(data, type_info)

    def from_sequence(self, from_: int, to: int) -> DataStream:
        """Return a stream of the integers from ``from_`` to ``to``, both inclusive."""
        from headrace.datastream.connectors.number_seq import NumberSequenceSource

        site = call_site()
        source = NumberSequenceSource(from_, to)
        stream = self._add_source_node(source, None, "Sequence", None, site, "from_sequence")
        # a known type, but the integers need no coercion
        stream._get_operator("from_sequence").output_type = Types.LONG()
        return stream

    def from_source(
        self,
        source: Source,
        watermark_strategy: WatermarkStrategy | None,
        source_name: str,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """Return a stream of a source's records, with timestamps and watermarks of the strategy."""
        site = call_site()
        require_identifier(source_name, "a source's name")
        build.check_type(type_info, "from_source")
        return self._add_source_node(
            source, watermark_strategy, source_name, type_info, site, "from_source"
        )

    def add_source(
        self,
        source_func: Source,
        source_name: str = "Custom Source",
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """Return a stream of a source's records, without watermarks."""
        site = call_site()
        build.check_type(type_info, "add_source")
        return self._add_source_node(source_func, None, source_name, type_info, site, "add_source")

    def create_input(
        self, input_format: InputFormat, type_info: TypeInformation | None = None
    ) -> DataStream:
        """Return a stream of the records of an input format, such as ``AvroInputFormat``.

        The stream has no watermarks.
        """
        from headrace.datastream.connectors.file_system import FileSource

        site = call_site()
        if not isinstance(input_format, InputFormat):
            raise UnsupportedError(
                f"create_input() takes an AvroInputFormat, say, not {input_format!r:.100}",
                where={"called": str(site)},
                hint="from_source() takes a source",
            )
        build.check_type(type_info, "create_input")
        source = FileSource.for_bulk_file_format(*input_format.files()).build()
        return self._add_source_node(
            source, None, "Custom File Source", type_info, site, "create_input"
        )

    # Execution

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run the job, wait for its end, and return its result.

        Raises:
            PlanError: the program is not valid, or has no sink.
        """
        try:
            return execution.execute(
                self._take_sinks(), self._configuration, job_name, self._listeners
            )
        except BaseException as error:
            raise trim_tracebacks(error)  # noqa: B904 - it is the same one, without frames of ours

    def execute_async(self, job_name: str | None = None) -> JobClient:
        """Start the job, and return a client that observes and cancels it."""
        sinks = self._take_sinks()
        return execution.execute_async(sinks, self._configuration, job_name, self._listeners)

    def register_job_listener(self, listener: JobListener) -> None:
        """Call a listener with the counts of each micro-batch of jobs that start from now on.

        Several listeners can be registered. PyFlink has no such method. Unlike Flink's listeners
        for Java it is not informed of a job's start and end, which the program knows itself.
        """
        self._listeners.append(listener)

    def get_execution_plan(self) -> str:
        """Return the job's graph as JSON."""
        return execution.execution_plan(self._list_sinks(), self._configuration)

    def close(self) -> None:
        """Drop sinks that were not executed, and delete the stored records of cached streams."""
        self._drop_pending()
        for node in self._transformations:
            if isinstance(node, CacheTransformation):
                node.kept.forget()

    # Internal methods

    def _add_source_node(
        self,
        source: Any,
        strategy: WatermarkStrategy | None,
        name: str,
        type_info: TypeInformation | None,
        site: CallSite,
        call: str,
    ) -> DataStream:
        from headrace.connector import ExecutedBy, Source

        if not isinstance(source, Source):
            raise UnsupportedError(
                f"{call}() takes a connector's Source, not {with_article(type(source).__name__)}",
                where={"stream": name, "called": str(site)},
            )
        if source.executed_by is ExecutedBy.TASKS and call != "from_collection":
            require_picklable(source, f"the source {name}", name, site)
        watermarks = None if strategy is None else build.timestamps_spec(strategy, call, name, site)
        node = SourceTransformation((), None, name, site, type_info, source=source)
        self._register(node)
        followers = build.add_followers(self, node, type_info, site, watermarks)
        return DataStream._from_operator(self, node, followers)
