# The public names, by the modules that define them. The package reads this file.

from headrace.datastream.async_data_stream import AsyncDataStream as AsyncDataStream
from headrace.datastream.checkpoint_config import CheckpointConfig as CheckpointConfig
from headrace.datastream.checkpoint_storage import (
    CheckpointStorage as CheckpointStorage,
    CustomCheckpointStorage as CustomCheckpointStorage,
    FileSystemCheckpointStorage as FileSystemCheckpointStorage,
    JobManagerCheckpointStorage as JobManagerCheckpointStorage,
)
from headrace.datastream.checkpointing_mode import CheckpointingMode as CheckpointingMode
from headrace.datastream.data_stream import (
    BroadcastConnectedStream as BroadcastConnectedStream,
    BroadcastStream as BroadcastStream,
    ConnectedStreams as ConnectedStreams,
    DataStream as DataStream,
    DataStreamSink as DataStreamSink,
    KeyedStream as KeyedStream,
    WindowedStream as WindowedStream,
)
from headrace.datastream.execution_mode import RuntimeExecutionMode as RuntimeExecutionMode
from headrace.datastream.externalized_checkpoint_retention import (
    ExternalizedCheckpointRetention as ExternalizedCheckpointRetention,
)
from headrace.datastream.functions import (
    AggregateFunction as AggregateFunction,
    AsyncFunction as AsyncFunction,
    AsyncRetryPredicate as AsyncRetryPredicate,
    AsyncRetryStrategy as AsyncRetryStrategy,
    BroadcastProcessFunction as BroadcastProcessFunction,
    CheckpointedFunction as CheckpointedFunction,
    CoFlatMapFunction as CoFlatMapFunction,
    CoGroupFunction as CoGroupFunction,
    CoMapFunction as CoMapFunction,
    CoProcessFunction as CoProcessFunction,
    FilterFunction as FilterFunction,
    FlatJoinFunction as FlatJoinFunction,
    FlatMapFunction as FlatMapFunction,
    FunctionInitializationContext as FunctionInitializationContext,
    FunctionSnapshotContext as FunctionSnapshotContext,
    JoinFields as JoinFields,
    JoinFunction as JoinFunction,
    KeySelector as KeySelector,
    KeyedBroadcastProcessFunction as KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction as KeyedCoProcessFunction,
    KeyedMapBatchesFunction as KeyedMapBatchesFunction,
    KeyedProcessFunction as KeyedProcessFunction,
    MapBatchesFunction as MapBatchesFunction,
    MapFunction as MapFunction,
    MapPartitionFunction as MapPartitionFunction,
    Order as Order,
    Partitioner as Partitioner,
    ProcessFunction as ProcessFunction,
    ProcessJoinFunction as ProcessJoinFunction,
    ProcessWindowFunction as ProcessWindowFunction,
    ReduceFunction as ReduceFunction,
    RuntimeContext as RuntimeContext,
    SinkFunction as SinkFunction,
    SourceFunction as SourceFunction,
    WindowFunction as WindowFunction,
)
from headrace.datastream.lookup_cache import LookupCache as LookupCache
from headrace.datastream.output_tag import OutputTag as OutputTag
from headrace.datastream.slot_sharing_group import (
    MemorySize as MemorySize,
    SlotSharingGroup as SlotSharingGroup,
)
from headrace.datastream.state_backend import (
    CustomStateBackend as CustomStateBackend,
    EmbeddedRocksDBStateBackend as EmbeddedRocksDBStateBackend,
    HashMapStateBackend as HashMapStateBackend,
    PredefinedOptions as PredefinedOptions,
    StateBackend as StateBackend,
)
from headrace.datastream.stream_execution_environment import (
    StreamExecutionEnvironment as StreamExecutionEnvironment,
)
from headrace.datastream.time_domain import TimeDomain as TimeDomain
from headrace.datastream.timerservice import TimerService as TimerService
from headrace.datastream.window import (
    CountWindow as CountWindow,
    GlobalWindow as GlobalWindow,
    MergingWindowAssigner as MergingWindowAssigner,
    TimeWindow as TimeWindow,
    Trigger as Trigger,
    TriggerResult as TriggerResult,
    Window as Window,
    WindowAssigner as WindowAssigner,
)
