"""Streams as the inputs of an operator for which the API has no call of its own."""

from __future__ import annotations

from dataclasses import replace

from headrace.datastream import DataStream, KeyedStream
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.nodes import add_operator
from headrace.graph.transformation import Edge
from headrace.runtime.operator import OperatorSpec


def broadcast(stream: DataStream) -> DataStream:
    """The stream with all of its records for every task."""
    return stream.broadcast()


def connected(spec: OperatorSpec, *streams: DataStream) -> DataStream:
    """The stream of an operator that gets each of the streams by an input of its own."""
    edges: list[Edge] = []
    for number, stream in enumerate(streams):
        found = stream._keyed_edges() if isinstance(stream, KeyedStream) else stream._edges
        edges += (replace(edge, input=number) for edge in found)
    env = streams[0]._env
    node = add_operator(env, tuple(edges), spec, call_site(), "connect", streams[0]._describe())
    return DataStream._from_operator(env, node, ())
