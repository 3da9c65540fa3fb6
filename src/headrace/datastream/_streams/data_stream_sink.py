"""``DataStreamSink``: a sink of the program."""

from __future__ import annotations

from headrace.datastream._build.operator_settings import OperatorSettings
from headrace.graph.transformation import SinkTransformation, Transformation

__all__ = ["DataStreamSink"]


class DataStreamSink(OperatorSettings):
    """A sink of the program; its methods set the sink's name, uid and parallelism."""

    def __init__(self, operator: SinkTransformation) -> None:
        self._sink = operator

    def _get_operator(self, call: str) -> Transformation:
        return self._sink
