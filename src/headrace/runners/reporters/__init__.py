"""Metric reporters: send or serve a running job's metrics, under Flink's names."""
