"""Plans for people and for Flink's visualizer."""

from __future__ import annotations

import json

from headrace.common.changelog_mode import ChangelogMode
from headrace.graph.stream_graph import StreamGraph
from headrace.planner.plan import parallelism_of, partitioning_of
from headrace.runtime.operator import Link, NodeProgram, Traits
from headrace.runtime.program import ChainProgram, JobProgram


def explain_text(program: JobProgram) -> str:
    """Return the stages, chains, exchanges, state and timers of a job, one per line."""
    mode = "batch" if program.batch else "streaming"
    lines = [f"Job {program.name!r} ({mode}, parallelism {program.parallelism})"]
    if program.is_one_task:
        lines.append(
            "On Spark: one task for all stages, without a shuffle, as the parallelism is 1"
        )
    lines.append("Stage 0: sources")
    for source in program.sources:
        root = source.chain.nodes[source.chain.root]
        lines.append(f"  Source {source.name}{_format_uid(source.uid)}{_format_traits(root)}")
        lines.extend(_chain_lines(program, source.chain, skip_root=True))
    for number, stage in enumerate(program.stages, 1):
        lines.append(f"Stage {number}")
        for vertex in stage:
            kind = f"{vertex.groups} key groups" if vertex.keyed else f"{vertex.groups} subtasks"
            lines.append(f"  Vertex {vertex.number} ({kind})")
            lines.extend(_chain_lines(program, vertex.chain, skip_root=False))
    for number, sink in enumerate(program.sinks):
        lines.append(f"Sink {number}: {sink.name}{_format_uid(sink.uid)}")
    return "\n".join(lines)


def _format_uid(uid: str | None) -> str:
    return f" [uid={uid}]" if uid else ""


def _chain_lines(program: JobProgram, chain: ChainProgram, skip_root: bool) -> list[str]:
    lines = []
    exchanges = {exchange.id: exchange for exchange in chain.exchanges}
    sinks = [sink.id for sink in program.sinks]
    for node_id in chain.order():
        node = chain.nodes[node_id]
        if not (skip_root and node_id == chain.root):
            lines.append(f"    {node.name}{_format_uid(node.uid)}{_format_traits(node)}")
        for link in node.links:
            tag = f" (side output {link.tag!r})" if link.tag else ""
            columns = _format_columns(link)
            if link.kind == "sink":
                lines.append(f"      -> sink {sinks.index(link.target)}{tag}{columns}")
            elif link.kind == "exchange":
                exchange = exchanges[link.target]
                vertex = program.vertex(exchange.target)
                tag += _format_input(vertex.chain.nodes[vertex.id], exchange.input)
                label = f"{exchange.label} exchange -> vertex {vertex.number}"
                lines.append(f"      -> {label}{tag}{columns}")
            else:
                target = chain.nodes[link.target]
                tag += _format_input(target, link.input)
                lines.append(f"      -> {target.name} (chained){tag}{columns}")
    return lines


def _format_columns(link: Link) -> str:
    """Return whether columns go along a link, and if not, though they could, why."""
    if link.columns:
        return " (columns, written as rows)" if link.rows_because else " (columns)"
    return f" (rows: {link.rows_because})" if link.rows_because else ""


def _format_input(node: NodeProgram, input_index: int) -> str:
    several = node.spec is not None and node.spec.traits.inputs > 1
    return f" (input {input_index})" if several else ""


def _format_traits(node: NodeProgram) -> str:
    traits = Traits() if node.spec is None else node.spec.traits
    words = [
        word
        for word, present in (
            ("keyed state", traits.state and not traits.operator_state),
            ("operator state", traits.operator_state),
            ("broadcast state", traits.broadcast_state),
            ("event-time timers", traits.event_timers),
            ("processing-time timers", traits.processing_timers),
            ("watermarks", traits.assigns_time),
        )
        if present
    ]
    if node.spec is not None and node.spec.emits == "last":
        words.append("emits last results")
    if node.gives is not None and node.gives != ChangelogMode.insert_only():
        words.append(f"changelog {node.gives.kind_codes}")
    return f"  {{{', '.join(words)}}}" if words else ""


def plan_json(graph: StreamGraph, program: JobProgram) -> str:
    """Return Flink's plan JSON: nodes with id, type, pact, contents, parallelism, predecessors."""
    nodes = []
    for node in graph.nodes:
        pact = "Operator"
        if node in graph.sources:
            pact = "Data Source"
        elif node in graph.sinks:
            pact = "Data Sink"
        label = node.name if pact == "Operator" else f"{pact.removeprefix('Data ')}: {node.name}"
        entry: dict[str, object] = {
            "id": node.id,
            "type": label,
            "pact": pact,
            "contents": node.description or label,
            "parallelism": parallelism_of(node) or program.parallelism,
        }
        if node.inputs:
            entry["predecessors"] = [
                {
                    "id": edge.source.id,
                    "ship_strategy": partitioning_of(edge, node).label,
                    "side": "second",
                }
                for edge in node.inputs
            ]
        nodes.append(entry)
    return json.dumps({"nodes": nodes}, indent=2)
