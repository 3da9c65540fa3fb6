"""Names that PyFlink's modules have because they import them, found where they are defined here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_HOMES: Mapping[str, Mapping[str, str]] = {
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
        "datastream.slot_sharing_group": "SlotSharingGroup",
        "datastream.state": (
            "AggregatingStateDescriptor ListStateDescriptor MapStateDescriptor ReducingState "
            "ReducingStateDescriptor StateDescriptor"
        ),
        "datastream.window": (
            "CountWindowSerializer GlobalWindowSerializer MergingWindowAssigner "
            "TimeWindowSerializer Trigger WindowOperationDescriptor"
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
    "datastream.connectors.file_system": {
        "common": "Duration Encoder",
        "common.serialization": "BulkWriterFactory RowDataBulkWriterFactory",
        "datastream.connectors.base": "Sink",
        "datastream.functions": "SinkFunction",
    },
}
"""By a module, and by the module that defines them (both below ``headrace``), names."""


def lazy_exports(module: str) -> Callable[[str], Any]:
    """A module's ``__getattr__``, for names that are imported with their first use.

    So ``from headrace.datastream.functions import ValueStateDescriptor`` works as in PyFlink, and
    modules that need each other in PyFlink import one way here.
    """
    homes = _HOMES[module.removeprefix("headrace.")]
    home_of = {name: f"headrace.{home}" for home, names in homes.items() for name in names.split()}

    def found(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(import_module(home), name)
        setattr(sys.modules[module], name, value)
        return value

    return found
