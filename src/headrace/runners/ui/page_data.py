"""The data of the page, as JSON: the graph once, and the figures every second."""

from __future__ import annotations

import math
from typing import Any

from headrace.runners.job_graph import EdgeInfo
from headrace.runners.ui.layout import CARD_PADDING, CARD_WIDTH, ROW_HEIGHT, lay_out
from headrace.runners.ui.record import BatchRow, Failure, JobRecord, JobView, OperatorView
from headrace.runners.ui.vertex_ids import hex_id

_SPLITS = 500
_SHOWN_FAILURES = 3
"""The page asks for these each second, and their traces may be long."""

_TIMELESS = 1 << 52


def graph_data(record: JobRecord) -> dict[str, Any]:
    """Return a job's graph with its layout; empty before the job starts."""
    view = record.view()
    graph, layout = view.graph, lay_out(view.graph)
    cards = {card.vertex: card for card in layout.cards}
    return {
        "started": view.job is not None,
        "width": layout.width,
        "height": layout.height,
        "card": {"width": CARD_WIDTH, "row": ROW_HEIGHT, "padding": CARD_PADDING},
        "vertices": [
            {
                "id": hex_id(vertex.id),
                "name": vertex.name,
                "stage": vertex.stage,
                "parallelism": vertex.parallelism,
                "max-parallelism": vertex.max_parallelism,
                "operators": vertex.operators,
                "x": cards[vertex.id].x,
                "y": round(cards[vertex.id].y, 1),
                "height": cards[vertex.id].height,
            }
            for vertex in graph.vertices
        ],
        "operators": [
            {
                "id": each.id,
                "name": each.name,
                "uid": each.uid,
                "kind": each.kind,
                "vertex": hex_id(each.vertex),
                "site": each.site,
                "keyed": each.keyed,
            }
            for each in graph.operators
        ],
        "edges": [
            {
                "source": edge.source,
                "target": edge.target,
                "label": edge.label,
                "tag": edge.tag,
                "points": route,
            }
            for edge, route in zip(graph.edges, layout.routes, strict=True)
        ],
    }


def state_data(record: JobRecord, after_batch: int, with_values: bool) -> dict[str, Any]:
    """Return the current figures of a job, and the micro-batches after ``after_batch``.

    ``with_values``: whether failures are shown with values of records.
    """
    view = record.view()
    job = view.job
    return {
        "id": "" if job is None else job.job_id,
        "name": view.name,
        "status": view.status.name,
        "now": view.now_ms,
        "started": record.started_ms,
        "seconds": round(view.seconds, 1),
        "runner": "" if job is None else job.runner,
        "location": "" if job is None else job.location,
        "cores": None if job is None else job.cores,
        "checkpoint": None if job is None else job.checkpoint,
        "in": view.records_in,
        "in-rate": round(view.in_rate, 2),
        "out": view.records_out,
        "out-rate": round(view.out_rate, 2),
        "watermark": _time_data(view.watermark_ms),
        "lag": view.lag_ms,
        "pending": view.pending,
        "state-bytes": view.state_bytes,
        "late": view.late,
        "bad": view.bad,
        "restarts": view.restarts,
        "batch-count": view.batch_count,
        "rates": record.read_by_second(),
        "figures": {
            name: value if math.isfinite(value) else None for name, value in view.figures.items()
        },
        "operators": {key: _operator_data(each) for key, each in view.operators.items()},
        "edge-rates": [_edge_rate(edge, view) for edge in view.graph.edges],
        "splits": {
            source: [
                [split, status.pending_records, status.pending_bytes, status.idle]
                for split, status in [*splits.items()][:_SPLITS]
            ]
            for source, splits in view.splits.items()
        },
        "batches": [_batch_data(row) for row in view.batches if row.batch_id > after_batch],
        "failures": [_failure_data(each, with_values) for each in view.failures[-_SHOWN_FAILURES:]],
        "with-values": with_values,
    }


def _time_data(at_ms: int | None) -> int | str | None:
    """Return a watermark (ms); ``end`` for the final one, which is too large for JavaScript."""
    if at_ms is None or at_ms <= -_TIMELESS:
        return None
    return "end" if at_ms >= _TIMELESS else at_ms


def _operator_data(each: OperatorView) -> dict[str, Any]:
    counts = each.counts
    return {
        "in": each.records_in,
        "out": counts.records_out,
        "in-rate": round(each.in_rate, 2),
        "out-rate": round(each.out_rate, 2),
        "busy": None if each.busy is None else round(each.busy, 4),
        "watermark": _time_data(each.watermark_ms),
        "pending": each.pending,
        "pending-bytes": each.pending_bytes,
        "state-entries": counts.state_entries,
        "state-bytes": counts.state_bytes,
        "late": each.late,
        "bad": each.bad,
        "bytes-in": counts.bytes_in,
        "bytes-out": counts.bytes_out,
    }


def _edge_rate(edge: EdgeInfo, view: JobView) -> float | None:
    """Return the records per second of an edge; None if several edges share one count."""
    edges = view.graph.edges
    into = sum(each.target == edge.target for each in edges)
    out_of = sum(each.source == edge.source for each in edges)
    source, target = view.operators.get(edge.source), view.operators.get(edge.target)
    if target is not None and into == 1:
        return round(target.in_rate, 2)
    if source is not None and out_of == 1:
        return round(source.out_rate, 2)
    return None


def _batch_data(row: BatchRow) -> list[Any]:
    phases = row.phases
    parts = (phases.plan_ms, phases.read_ms, phases.process_ms, phases.commit_ms)
    rounded = [None if ms is None else round(ms, 2) for ms in parts]
    return [row.batch_id, row.started_ms, round(row.duration_ms, 2), *rounded, row.records]


def _failure_data(failure: Failure, with_values: bool) -> dict[str, Any]:
    shown = failure.shown(with_values)
    return {
        "at": failure.at_ms,
        "restarts-in": failure.restarts_in_ms,
        "name": shown.name,
        "message": shown.message,
        "line": shown.line,
        "source": shown.source,
        "operator": shown.operator,
        "trace": shown.stacktrace,
    }
