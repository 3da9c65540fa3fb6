"""The DataStream API. Names are imported when they are first asked for.

A worker that unpickles a user's MapFunction needs ``functions`` and nothing else of the API.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.datastream.async_data_stream import AsyncDataStream
    from headrace.datastream.checkpoint_config import CheckpointConfig
    from headrace.datastream.checkpoint_storage import (
        CheckpointStorage,
        CustomCheckpointStorage,
        FileSystemCheckpointStorage,
        JobManagerCheckpointStorage,
    )
    from headrace.datastream.checkpointing_mode import CheckpointingMode
    from headrace.datastream.data_stream import (
        BroadcastConnectedStream,
        BroadcastStream,
        ConnectedStreams,
        DataStream,
        DataStreamSink,
        KeyedStream,
        WindowedStream,
    )
    from headrace.datastream.execution_mode import RuntimeExecutionMode
    from headrace.datastream.externalized_checkpoint_retention import (
        ExternalizedCheckpointRetention,
    )
    from headrace.datastream.functions import (
        AggregateFunction,
        AsyncFunction,
        AsyncRetryPredicate,
        AsyncRetryStrategy,
        BroadcastProcessFunction,
        CheckpointedFunction,
        CoFlatMapFunction,
        CoGroupFunction,
        CoMapFunction,
        CoProcessFunction,
        FilterFunction,
        FlatJoinFunction,
        FlatMapFunction,
        FunctionInitializationContext,
        FunctionSnapshotContext,
        JoinFields,
        JoinFunction,
        KeyedBroadcastProcessFunction,
        KeyedCoProcessFunction,
        KeyedMapBatchesFunction,
        KeyedProcessFunction,
        KeySelector,
        MapBatchesFunction,
        MapFunction,
        MapPartitionFunction,
        Order,
        Partitioner,
        ProcessFunction,
        ProcessJoinFunction,
        ProcessWindowFunction,
        ReduceFunction,
        RuntimeContext,
        SinkFunction,
        SourceFunction,
        WindowFunction,
    )
    from headrace.datastream.lookup_cache import LookupCache
    from headrace.datastream.output_tag import OutputTag
    from headrace.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
    from headrace.datastream.state_backend import (
        CustomStateBackend,
        EmbeddedRocksDBStateBackend,
        HashMapStateBackend,
        PredefinedOptions,
        StateBackend,
    )
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headrace.datastream.time_domain import TimeDomain
    from headrace.datastream.timerservice import TimerService
    from headrace.datastream.window import (
        CountWindow,
        GlobalWindow,
        MergingWindowAssigner,
        TimeWindow,
        Trigger,
        TriggerResult,
        Window,
        WindowAssigner,
    )

_HOMES = {
    "AsyncDataStream": "async_data_stream",
    "CheckpointConfig": "checkpoint_config",
    "CheckpointStorage": "checkpoint_storage",
    "CustomCheckpointStorage": "checkpoint_storage",
    "FileSystemCheckpointStorage": "checkpoint_storage",
    "JobManagerCheckpointStorage": "checkpoint_storage",
    "CheckpointingMode": "checkpointing_mode",
    "BroadcastConnectedStream": "data_stream",
    "BroadcastStream": "data_stream",
    "ConnectedStreams": "data_stream",
    "DataStream": "data_stream",
    "DataStreamSink": "data_stream",
    "KeyedStream": "data_stream",
    "WindowedStream": "data_stream",
    "RuntimeExecutionMode": "execution_mode",
    "ExternalizedCheckpointRetention": "externalized_checkpoint_retention",
    "AggregateFunction": "functions",
    "AsyncFunction": "functions",
    "AsyncRetryPredicate": "functions",
    "AsyncRetryStrategy": "functions",
    "BroadcastProcessFunction": "functions",
    "CheckpointedFunction": "functions",
    "CoFlatMapFunction": "functions",
    "CoGroupFunction": "functions",
    "CoMapFunction": "functions",
    "CoProcessFunction": "functions",
    "FilterFunction": "functions",
    "FlatJoinFunction": "functions",
    "FlatMapFunction": "functions",
    "JoinFields": "functions",
    "JoinFunction": "functions",
    "FunctionInitializationContext": "functions",
    "FunctionSnapshotContext": "functions",
    "KeySelector": "functions",
    "KeyedBroadcastProcessFunction": "functions",
    "KeyedCoProcessFunction": "functions",
    "KeyedMapBatchesFunction": "functions",
    "KeyedProcessFunction": "functions",
    "MapBatchesFunction": "functions",
    "MapFunction": "functions",
    "MapPartitionFunction": "functions",
    "Order": "functions",
    "Partitioner": "functions",
    "ProcessFunction": "functions",
    "ProcessJoinFunction": "functions",
    "ProcessWindowFunction": "functions",
    "ReduceFunction": "functions",
    "RuntimeContext": "functions",
    "SinkFunction": "functions",
    "SourceFunction": "functions",
    "WindowFunction": "functions",
    "LookupCache": "lookup_cache",
    "OutputTag": "output_tag",
    "MemorySize": "slot_sharing_group",
    "SlotSharingGroup": "slot_sharing_group",
    "CustomStateBackend": "state_backend",
    "EmbeddedRocksDBStateBackend": "state_backend",
    "HashMapStateBackend": "state_backend",
    "PredefinedOptions": "state_backend",
    "StateBackend": "state_backend",
    "StreamExecutionEnvironment": "stream_execution_environment",
    "TimeDomain": "time_domain",
    "TimerService": "timerservice",
    "CountWindow": "window",
    "GlobalWindow": "window",
    "MergingWindowAssigner": "window",
    "TimeWindow": "window",
    "Trigger": "window",
    "TriggerResult": "window",
    "Window": "window",
    "WindowAssigner": "window",
}

__all__ = [
    "AggregateFunction",
    "AsyncDataStream",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BroadcastConnectedStream",
    "BroadcastProcessFunction",
    "BroadcastStream",
    "CheckpointConfig",
    "CheckpointStorage",
    "CheckpointedFunction",
    "CheckpointingMode",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "ConnectedStreams",
    "CountWindow",
    "CustomCheckpointStorage",
    "CustomStateBackend",
    "DataStream",
    "DataStreamSink",
    "EmbeddedRocksDBStateBackend",
    "ExternalizedCheckpointRetention",
    "FileSystemCheckpointStorage",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "GlobalWindow",
    "HashMapStateBackend",
    "JobManagerCheckpointStorage",
    "JoinFields",
    "JoinFunction",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedMapBatchesFunction",
    "KeyedProcessFunction",
    "KeyedStream",
    "LookupCache",
    "MapBatchesFunction",
    "MapFunction",
    "MapPartitionFunction",
    "MemorySize",
    "MergingWindowAssigner",
    "Order",
    "OutputTag",
    "Partitioner",
    "PredefinedOptions",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RuntimeContext",
    "RuntimeExecutionMode",
    "SinkFunction",
    "SlotSharingGroup",
    "SourceFunction",
    "StateBackend",
    "StreamExecutionEnvironment",
    "TimeDomain",
    "TimeWindow",
    "TimerService",
    "Trigger",
    "TriggerResult",
    "Window",
    "WindowAssigner",
    "WindowFunction",
    "WindowedStream",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
