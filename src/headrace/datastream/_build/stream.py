"""``Stream``: the base of all streams, an operator's output in the program's graph."""

from __future__ import annotations

from typing import Any

from headrace.common._arguments import with_article
from headrace.common._output_tag import OutputTag
from headrace.common.typeinfo import TupleTypeInfo, TypeInformation, Types
from headrace.connector import Sink
from headrace.datastream._build import checkpointed
from headrace.datastream._build import nodes as build
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.node_list import NodeList
from headrace.datastream._build.operator_settings import OperatorSettings
from headrace.datastream._build.pickling import require_picklable
from headrace.errors import PlanError, UnsupportedError
from headrace.graph.transformation import (
    CallSite,
    Edge,
    SinkTransformation,
    SourceTransformation,
    Transformation,
)
from headrace.runtime.operator import OperatorSpec


class Stream(OperatorSettings):
    """The output of an operator, from which the next operator reads.

    Fields:
        edges: the edges to read from: one, or several after ``union``.
        operator: the operator whose settings can be changed; None after a union or a partitioning.
        followers: the nodes after it that belong to it: types, timestamps.
    """

    def __init__(
        self,
        nodes: NodeList,
        edges: tuple[Edge, ...],
        operator: Transformation | None = None,
        followers: tuple[Transformation, ...] = (),
    ) -> None:
        self._nodes = nodes
        self._edges = edges
        self._configurable_operator = operator
        self._follow_up_nodes = followers

    def _get_operator(self, call: str) -> Transformation:
        if self._configurable_operator is None:
            raise PlanError(
                f"{call}() needs an operator, but this stream is made by union, a side output or a"
                " way of partitioning",
                where={"stream": self._describe()},
                hint=f"call {call}() on the stream before it, or after the next operator",
            )
        return self._configurable_operator

    def _list_followers(self) -> tuple[Transformation, ...]:
        return self._follow_up_nodes

    def _describe(self) -> str:
        """Return the stream, for messages."""
        if len(self._edges) > 1:
            return "union of " + ", ".join(edge.source.name for edge in self._edges)
        node, tag = self._edges[0].source, self._edges[0].tag
        if self._configurable_operator is not None:
            node = self._configurable_operator
        uid = f" (uid={node.uid})" if node.uid else ""
        side = f", side output {tag.tag_id!r}" if tag else ""
        return f"{node.name}{uid}{side}, built at {node.site}"

    def _type(self) -> TypeInformation | None:
        types = [
            edge.source.output_type if edge.tag is None else edge.tag.type_info
            for edge in self._edges
        ]
        return types[0] if all(one == types[0] for one in types) else None

    def _project_type(self, indexes: tuple[int, ...]) -> TypeInformation | None:
        declared = self._type()
        if not isinstance(declared, TupleTypeInfo):
            return None
        fields = declared.get_field_types()
        if max(indexes) >= len(fields):
            raise PlanError(
                f"project() asks for field {max(indexes)} of {declared}",
                where={"stream": self._describe()},
            )
        return Types.TUPLE([fields[index] for index in indexes])

    def _new_operator(
        self,
        spec: OperatorSpec,
        site: CallSite,
        call: str,
        output_type: TypeInformation | None = None,
        *,
        kept_type: TypeInformation | None = None,
        inputs: tuple[Edge, ...] | None = None,
    ) -> tuple[Transformation, tuple[Transformation, ...]]:
        """Return a node that reads this stream, and the nodes that belong to it.

        ``output_type``: a declared type, to which records are converted. ``kept_type``: a type that
        they have already. ``inputs``: keyed edges, if the operator needs them.
        """
        stream = self._describe()
        build.check_type(output_type, call)
        if checkpointed.keeps_state(spec):
            keyed = inputs is not None
            spec = checkpointed.make_checkpointed_spec(spec, keyed, call, stream, site)
            inputs = checkpointed.spread(self._edges)
        if inputs is None:
            inputs = self._edges
            for function in spec.functions:
                build.require_unkeyed(function, call, stream, site)
        node = build.add_operator(
            self._nodes, inputs, spec, site, call, stream, output_type or kept_type
        )
        if checkpointed.has_one_instance(spec):
            node.parallelism = 1
        return node, build.add_followers(self._nodes, node, output_type, site)

    def _new_sink(self, sink: Any, call: str, site: CallSite) -> SinkTransformation:
        """Return a sink that reads this stream, in the program's next job."""
        stream = self._describe()
        if not isinstance(sink, Sink):
            raise UnsupportedError(
                f"{call}() takes a connector's Sink, not {with_article(type(sink).__name__)}",
                where={"stream": stream, "called": str(site)},
                hint="FunctionSink (headrace.datastream.connectors.function) wraps Python code",
            )
        declared = self._type()
        if hasattr(sink, "require_columns"):
            sink.require_columns(declared, stream, site)
        if declared is not None and hasattr(sink, "with_type_info"):
            sink = sink.with_type_info(declared)
        require_picklable(sink, f"the sink {sink.name}", stream, site)
        node = SinkTransformation(self._edges, None, sink.name, site, declared, sink=sink)
        self._nodes._register_sink(node)
        return node

    def _collecting_sink(self) -> SinkTransformation:
        """Return a sink that collects this stream's records in the program.

        It belongs to no job yet.
        """
        from headrace.datastream.connectors._print import CollectSink

        return SinkTransformation(
            self._edges, None, "Collect", call_site(), self._type(), sink=CollectSink()
        )


def may_emit_to(node: Transformation, tag: OutputTag) -> bool:
    """Return whether an operator or a source can emit to a side output."""
    if isinstance(node, SourceTransformation):
        return bool(getattr(node.source, "bad_record_tag", None) == tag)
    return node.spec is not None and node.spec.traits.side_outputs
