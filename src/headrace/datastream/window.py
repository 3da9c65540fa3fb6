"""Windows, and their assigners, triggers and evictors.

A trigger decides when a window fires; by default it does so when time passes the window's end.
"""

from typing import TYPE_CHECKING

from headrace._lazy_exports import lazy_exports
from headrace.common._unsupported import unsupported
from headrace.common._windows import (
    CountWindow,
    GlobalWindow,
    TimestampedValue,
    TimeWindow,
    TriggerResult,
    Window,
)
from headrace.datastream._windows.assigner import (
    MergingWindowAssigner,
    SessionWindowTimeGapExtractor,
    WindowAssigner,
)
from headrace.datastream._windows.assigners import (
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowStagger,
)
from headrace.datastream._windows.evictors import (
    CountEvictor,
    DeltaEvictor,
    Evictor,
    TimeEvictor,
)
from headrace.datastream._windows.record_assigners import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    GlobalWindows,
)
from headrace.datastream._windows.record_triggers import (
    CountTrigger,
    DeltaTrigger,
    EndOfStreamTrigger,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    PurgingTrigger,
)
from headrace.datastream._windows.serializers import (
    CountWindowSerializer,
    GlobalWindowSerializer,
    TimeWindowSerializer,
)
from headrace.datastream._windows.session_assigners import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
)
from headrace.datastream._windows.time_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    EventTimeTrigger,
    Min,
    ProcessingTimeTrigger,
)
from headrace.datastream._windows.trigger import Trigger

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountEvictor",
    "CountSlidingWindowAssigner",
    "CountTrigger",
    "CountTumblingWindowAssigner",
    "CountWindow",
    "CountWindowSerializer",
    "DeltaEvictor",
    "DeltaTrigger",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EndOfStreamTrigger",
    "EventTimeSessionWindows",
    "EventTimeTrigger",
    "Evictor",
    "GlobalWindow",
    "GlobalWindowSerializer",
    "GlobalWindows",
    "MergingWindowAssigner",
    "Min",
    "NeverTrigger",
    "ProcessingTimeSessionWindows",
    "ProcessingTimeTrigger",
    "ProcessingTimeoutTrigger",
    "PurgingTrigger",
    "SessionWindowTimeGapExtractor",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TimeEvictor",
    "TimeWindow",
    "TimeWindowSerializer",
    "TimestampedValue",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "Window",
    "WindowAssigner",
    "WindowOperationDescriptor",
    "WindowStagger",
]

if not TYPE_CHECKING:  # type checkers find names in their defining modules
    __getattr__ = lazy_exports(__name__)

WindowOperationDescriptor = unsupported(
    f"{__name__}.WindowOperationDescriptor",
    "it is how PyFlink sends an operator to its JVM, and Headrace has none",
)
