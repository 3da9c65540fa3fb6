"""Metric reporters: what a running job counts, under the names of Flink's metrics."""
