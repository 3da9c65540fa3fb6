"""What user functions count and measure, and what the engine counts."""

from headrace.metrics._operator_counts import (
    BatchCounts,
    JobListener,
    OperatorCounts,
    SourceCounts,
)
from headrace.metrics.metricbase import Counter, Distribution, Meter, Metric, MetricGroup

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
