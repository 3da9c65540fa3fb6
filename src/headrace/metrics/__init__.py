"""What user functions count and measure, and what the engine counts."""

from headrace.metrics.metricbase import Counter, Distribution, Meter, Metric, MetricGroup
from headrace.metrics.operator_counts import (
    BatchCounts,
    JobListener,
    OperatorCounts,
    SourceCounts,
)

__all__ = [
    "BatchCounts",
    "Counter",
    "Distribution",
    "JobListener",
    "Meter",
    "Metric",
    "MetricGroup",
    "OperatorCounts",
    "SourceCounts",
]
