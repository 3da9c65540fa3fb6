"""Patterns of events (Flink CEP): not supported."""

from headrace.common._unsupported import refuse_module

refuse_module(__name__)
