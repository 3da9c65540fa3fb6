"""Metrics that user functions report, and the counts that the engine reports."""

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
