"""Windows, their assigners and triggers: declared, not part of this release."""

from headrace.common.unsupported import unsupported

_WINDOWS = "windows are not part of this release"

Window = unsupported(f"{__name__}.Window", _WINDOWS)
TimeWindow = unsupported(f"{__name__}.TimeWindow", _WINDOWS)
CountWindow = unsupported(f"{__name__}.CountWindow", _WINDOWS)
GlobalWindow = unsupported(f"{__name__}.GlobalWindow", _WINDOWS)
TimeWindowSerializer = unsupported(f"{__name__}.TimeWindowSerializer", _WINDOWS)
CountWindowSerializer = unsupported(f"{__name__}.CountWindowSerializer", _WINDOWS)
GlobalWindowSerializer = unsupported(f"{__name__}.GlobalWindowSerializer", _WINDOWS)
TriggerResult = unsupported(f"{__name__}.TriggerResult", _WINDOWS)
Trigger = unsupported(f"{__name__}.Trigger", _WINDOWS)
WindowAssigner = unsupported(f"{__name__}.WindowAssigner", _WINDOWS)
MergingWindowAssigner = unsupported(f"{__name__}.MergingWindowAssigner", _WINDOWS)
WindowOperationDescriptor = unsupported(f"{__name__}.WindowOperationDescriptor", _WINDOWS)
SessionWindowTimeGapExtractor = unsupported(f"{__name__}.SessionWindowTimeGapExtractor", _WINDOWS)
EventTimeTrigger = unsupported(f"{__name__}.EventTimeTrigger", _WINDOWS)
ContinuousEventTimeTrigger = unsupported(f"{__name__}.ContinuousEventTimeTrigger", _WINDOWS)
Min = unsupported(f"{__name__}.Min", _WINDOWS)
ProcessingTimeTrigger = unsupported(f"{__name__}.ProcessingTimeTrigger", _WINDOWS)
ContinuousProcessingTimeTrigger = unsupported(
    f"{__name__}.ContinuousProcessingTimeTrigger", _WINDOWS
)
PurgingTrigger = unsupported(f"{__name__}.PurgingTrigger", _WINDOWS)
CountTrigger = unsupported(f"{__name__}.CountTrigger", _WINDOWS)
NeverTrigger = unsupported(f"{__name__}.NeverTrigger", _WINDOWS)
CountTumblingWindowAssigner = unsupported(f"{__name__}.CountTumblingWindowAssigner", _WINDOWS)
CountSlidingWindowAssigner = unsupported(f"{__name__}.CountSlidingWindowAssigner", _WINDOWS)
TumblingProcessingTimeWindows = unsupported(f"{__name__}.TumblingProcessingTimeWindows", _WINDOWS)
TumblingEventTimeWindows = unsupported(f"{__name__}.TumblingEventTimeWindows", _WINDOWS)
SlidingProcessingTimeWindows = unsupported(f"{__name__}.SlidingProcessingTimeWindows", _WINDOWS)
SlidingEventTimeWindows = unsupported(f"{__name__}.SlidingEventTimeWindows", _WINDOWS)
ProcessingTimeSessionWindows = unsupported(f"{__name__}.ProcessingTimeSessionWindows", _WINDOWS)
EventTimeSessionWindows = unsupported(f"{__name__}.EventTimeSessionWindows", _WINDOWS)
DynamicProcessingTimeSessionWindows = unsupported(
    f"{__name__}.DynamicProcessingTimeSessionWindows", _WINDOWS
)
DynamicEventTimeSessionWindows = unsupported(f"{__name__}.DynamicEventTimeSessionWindows", _WINDOWS)
GlobalWindows = unsupported(f"{__name__}.GlobalWindows", _WINDOWS)
