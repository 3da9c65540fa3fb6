"""Lazy imports: a module offers names that other modules define, and imports them on first use.

A package lists its public names once, in the stub ``__init__.pyi`` beside its ``__init__.py``:
``from module import Name as Name``, which exports a name for type checkers. The package reads the
stub when it is imported (``stub_exports``). A ``.py`` file alone is not enough: type checkers need
the import, ``import *`` needs ``__all__``, and finding a module needs both.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_PYFLINK_HOMES: Mapping[str, Mapping[str, str]] = {
    "common": {
        "datastream.formats.avro": "AvroRowDeserializationSchema AvroRowSerializationSchema",
        "datastream.formats.csv": "CsvRowDeserializationSchema CsvRowSerializationSchema",
        "datastream.formats.json": "JsonRowDeserializationSchema JsonRowSerializationSchema",
    },
    "common.serialization": {
        "datastream.formats.avro": "AvroRowDeserializationSchema AvroRowSerializationSchema",
        "datastream.formats.csv": "CsvRowDeserializationSchema CsvRowSerializationSchema",
        "datastream.formats.json": "JsonRowDeserializationSchema JsonRowSerializationSchema",
    },
    "datastream.functions": {
        "datastream.state": (
            "AggregatingState AggregatingStateDescriptor BroadcastState ListState "
            "ListStateDescriptor MapState MapStateDescriptor ReadOnlyBroadcastState "
            "ReducingState ReducingStateDescriptor ValueState ValueStateDescriptor"
        ),
        "metrics": "MetricGroup",
    },
    "datastream.state": {
        "common": "Duration Time",
    },
    "datastream.window": {
        "common": "Time TypeSerializer Types",
        "datastream.functions": "ReduceFunction RuntimeContext",
        "datastream.output_tag": "OutputTag",
        "datastream.state": (
            "ReducingState ReducingStateDescriptor State StateDescriptor ValueStateDescriptor"
        ),
        "metrics": "MetricGroup",
    },
    "datastream.stream_execution_environment": {
        "common": "ExecutionConfig JobClient JobExecutionResult",
        "common.io": "InputFormat",
        "datastream.checkpoint_config": "CheckpointConfig",
        "datastream.checkpointing_mode": "CheckpointingMode",
        "datastream.connectors.base": "Source",
        "datastream.execution_mode": "RuntimeExecutionMode",
        "datastream.functions": "SourceFunction",
        "datastream.slot_sharing_group": "SlotSharingGroup",
        "datastream.utils": "ResultTypeQueryable",
    },
    "datastream.data_stream": {
        "common": "Row WatermarkStrategy",
        "common.typeinfo": "RowTypeInfo",
        "common.watermark_strategy": "TimestampAssigner",
        "datastream.connectors.base": "Sink",
        "datastream.functions": (
            "AggregateFunction AllWindowFunction BroadcastProcessFunction CoFlatMapFunction "
            "CoMapFunction CoProcessFunction FilterFunction FlatMapFunction Function "
            "KeyedBroadcastProcessFunction KeyedCoProcessFunction KeyedProcessFunction "
            "MapFunction NullByteKeySelector Partitioner ProcessAllWindowFunction "
            "ProcessFunction ProcessWindowFunction ReduceFunction RuntimeContext SinkFunction "
            "WindowFunction"
        ),
        "datastream._streams.windowed": "AllWindowedStream WindowedStream",
        "datastream.slot_sharing_group": "SlotSharingGroup",
        "datastream.state": (
            "AggregatingStateDescriptor ListStateDescriptor MapStateDescriptor ReducingState "
            "ReducingStateDescriptor StateDescriptor"
        ),
        "datastream.window": (
            "CountEvictor CountSlidingWindowAssigner CountTrigger CountTumblingWindowAssigner "
            "CountWindowSerializer GlobalWindowSerializer GlobalWindows MergingWindowAssigner "
            "PurgingTrigger TimeWindowSerializer Trigger WindowAssigner WindowOperationDescriptor"
        ),
    },
    "datastream.async_data_stream": {
        "common": "Time",
    },
    "datastream.async_retry_strategies": {
        "datastream.functions": "AsyncRetryPredicate AsyncRetryStrategy",
    },
    "datastream.output_tag": {
        "common.typeinfo": "RowTypeInfo TypeInformation Types",
    },
    "table.table_environment": {
        "table.stream_table_environment": "StreamTableEnvironment",
    },
    "datastream.connectors.file_system": {
        "common": "Duration Encoder",
        "common.serialization": "BulkWriterFactory RowDataBulkWriterFactory",
        "datastream.connectors.base": "Sink",
        "datastream.functions": "SinkFunction",
    },
}
"""Names that PyFlink's modules have because they import them.

By module, and by the module that defines them in Headrace (both below ``headrace``)."""


def lazy_exports(module: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module that offers the names of PyFlink's module.

    So ``from headrace.datastream.functions import ValueStateDescriptor`` works as in PyFlink,
    although modules that import each other in PyFlink import in one direction here.
    """
    homes = _PYFLINK_HOMES[module.removeprefix("headrace.")]
    return _make_importer(
        module,
        {name: f"headrace.{home}" for home, names in homes.items() for name in names.split()},
    )


def stub_exports(
    package: str,
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__all__``, ``__getattr__`` and ``__dir__`` of a package with a stub."""
    home_of = stub_names(package)
    names = sorted(home_of)
    return (
        names,
        _make_importer(package, home_of),
        lambda: sorted({*vars(sys.modules[package]), *names}),
    )


def stub_names(package: str) -> dict[str, str]:
    """Return the names that a package's stub imports, with the module of each."""
    spec: Any = sys.modules[package].__spec__
    path = f"{spec.submodule_search_locations[0]}/__init__.pyi"
    stub = ast.parse(spec.loader.get_data(path))  # the loader also reads from zip files
    homes = {}
    for statement in stub.body:
        if not isinstance(statement, ast.ImportFrom) or statement.module is None:
            raise ImportError(f"{path} has more than imports: line {statement.lineno}")
        homes.update({alias.name: statement.module for alias in statement.names})
    return homes


def _make_importer(module: str, home_of: Mapping[str, str]) -> Callable[[str], Any]:
    def found(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(import_module(home), name)
        setattr(sys.modules[module], name, value)
        return value

    return found
