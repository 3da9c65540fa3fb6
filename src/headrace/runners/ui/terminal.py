"""The display of a running job in a terminal, and its lines in a log."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from headrace.common.job_status import JobStatus
from headrace.runners.observers import BatchProgress, JobInfo, SaveFailed, SavepointTaken
from headrace.runners.ui.lines import Column, Line, Span, shorten, table_lines
from headrace.runners.ui.live import LineLog, LiveView, is_notebook
from headrace.runners.ui.record import BatchRow, JobRecord, JobView, OperatorView
from headrace.runners.ui.region import is_terminal
from headrace.runners.ui.text import (
    NONE,
    format_bytes,
    format_count,
    format_duration,
    format_moment,
)

_PHASES = (
    ("plan", "bright_blue"),
    ("read", "cyan"),
    ("process", "green"),
    ("commit", "yellow"),
)
_BAR_WIDTH = 32
_BUSY_WIDTH = 8
_SPLITS = 6
_COUNTED = " counted  "
_COUNTED_LINES = 4
_NARROW = 92
"""In a narrower terminal some columns are left out."""

_STATUS_STYLES = {
    JobStatus.RUNNING: "black on green",
    JobStatus.RESTARTING: "black on yellow",
    JobStatus.FAILED: "white on red",
}


class TerminalDisplay:
    """Observes a job and shows it on stderr; ``address``: the URL of its page, or empty.

    ``live``: True for a live display, False for lines of a log.
    """

    def __init__(self, record: JobRecord, live: bool, address: str = "") -> None:
        self._record, self._address = record, address
        self._lines = LineLog()
        self._view = LiveView(self._render) if live else None

    def on_start(self, job: JobInfo) -> None:
        """Start the display."""
        if self._view is not None:
            self._view.start()

    def on_batch(self, batch: BatchProgress) -> None:
        """Print a line, if the last one is ten seconds old."""
        if self._view is None:
            self._lines.update(lambda: status_line(self._record.view()))

    def on_failure(self, error: BaseException, restarts_in_ms: int | None) -> None:
        """Do nothing: the runner prints failures."""

    def on_savepoint(self, savepoint: SavepointTaken) -> None:
        """Do nothing: the runner prints savepoints."""

    def on_save_failed(self, failed: SaveFailed) -> None:
        """Do nothing: who has asked for it prints the error."""

    def on_end(self, status: JobStatus) -> None:
        """Stop the display; print a summary if the job was shown."""
        if self._view is not None:
            self._view.stop()
            if self._view.shown:
                print(summary(self._record.view()), file=sys.stderr)
        elif self._lines.used:
            self._lines.update(lambda: summary(self._record.view()), last=True)

    def _render(self, width: int, height: int) -> list[Line]:
        return job_lines(self._record.view(), width, height, self._address)


def shows_live(stream: TextIO | None = None) -> bool:
    """Return whether a live display is possible: in a terminal with a cursor, or in a notebook."""
    stream = stream or sys.stderr
    return is_notebook() or (is_terminal(stream) and os.environ.get("TERM") != "dumb")


def status_line(view: JobView) -> str:
    """Return a line for a log: the current figures of the job."""
    return f"headrace: {view.name!r}: " + ", ".join(_line_parts(view))


def _line_parts(view: JobView) -> list[str]:
    parts = [
        f"{view.records_in:,} records in ({format_count(view.in_rate)}/s)",
        f"{view.records_out:,} out",
    ]
    if view.watermark_ms is not None:
        moment = f"watermark {format_moment(view.watermark_ms)}"
        parts.append(moment + _lag_text(view.lag_ms, " ({})"))
    if view.pending:
        parts.append(f"{view.pending:,} waiting")
    if view.batches:
        parts.append(f"micro-batch {_batch_text(view.batches[-1])}")
    return parts + _losses(view)


def _losses(view: JobView) -> list[str]:
    counts = ((view.late, "late"), (view.bad, "bad"))
    found = [f"{count:,} {word} {_records(count)}" for count, word in counts if count]
    if view.restarts:
        found.append(f"{view.restarts} restart{'s' * (view.restarts > 1)}")
    return found


def _records(count: int) -> str:
    return "record" if count == 1 else "records"


def _batch_text(row: BatchRow) -> str:
    phases = [
        f"{name} {format_duration(ms)}"
        for (name, _), ms in zip(_PHASES, _phase_times(row), strict=True)
        if ms is not None
    ]
    split = f" ({', '.join(phases)})" if phases else ""
    return f"{row.batch_id}: {format_duration(row.duration_ms)}{split}"


def _phase_times(row: BatchRow) -> tuple[float | None, ...]:
    phases = row.phases
    return phases.plan_ms, phases.read_ms, phases.process_ms, phases.commit_ms


def _lag_text(lag_ms: int | None, form: str) -> str:
    return "" if lag_ms is None else form.format(f"{format_duration(lag_ms)} behind")


def summary(view: JobView) -> str:
    """Return the summary of an ended job, in one line."""
    ends = {
        JobStatus.FINISHED: "finished",
        JobStatus.CANCELED: "was cancelled",
        JobStatus.FAILED: "failed",
    }
    parts = [
        f"{view.records_in:,} records in ({format_count(view.in_rate)}/s)",
        f"{view.records_out:,} out",
        f"{view.batch_count:,} micro-batch{'es' * (view.batch_count != 1)}",
    ]
    if view.state_bytes is not None:
        parts.append(f"state {format_bytes(view.state_bytes)}")
    end = ends.get(view.status, view.status.name.lower())
    after = format_duration(view.seconds * 1000)
    return f"headrace: {view.name!r} {end} after {after}: " + ", ".join(parts + _losses(view))


def job_lines(view: JobView, width: int, height: int, address: str = "") -> list[Line]:
    """Return the live display: at most ``height`` lines, for ``width`` characters."""
    lines = [_title(view, address), *_figures_lines(view)]
    if view.batches:
        lines.append(_batch_bar(view.batches[-1]))
    splits = _splits_line(view)
    lines += [*([splits] if splits else []), *_user_lines(view, width)]
    return lines + _operator_lines(view, width, max(height - len(lines), 2))


def _title(view: JobView, address: str) -> Line:
    line = [
        Span(f" {view.status.name} ", _STATUS_STYLES.get(view.status, "black on white")),
        Span(f" {view.name} ", "bold"),
        Span(f" {format_duration(view.seconds * 1000)}", "dim"),
    ]
    if address:
        line.append(Span(f"  {address}", "cyan"))
    if view.job is not None:
        cores = f", {view.job.cores} cores" if view.job.cores > 1 else ""
        line.append(Span(f"  {view.job.runner} ({view.job.location}{cores})", "dim"))
    return line


def _figures_lines(view: JobView) -> list[Line]:
    lag = NONE if view.lag_ms is None else format_duration(view.lag_ms)
    figures = [
        ("records/s in", format_count(view.in_rate), f"{view.records_in:,}"),
        ("records/s out", format_count(view.out_rate), f"{view.records_out:,}"),
        ("behind", lag, format_moment(view.watermark_ms)),
        ("waiting", format_count(view.pending), "unread records"),
    ]
    if view.state_bytes is not None:
        figures.append(("state", format_bytes(view.state_bytes), ""))
    if view.late or view.bad:
        figures.append(("late, bad", f"{format_count(view.late)}, {format_count(view.bad)}", ""))
    if view.restarts:
        figures.append(("restarts", f"{view.restarts}", ""))
    return table_lines(
        [Column(title) for title, _, _ in figures],
        [
            [[Span(value, "bold")] for _, value, _ in figures],
            [[Span(below, "dim")] for _, _, below in figures],
        ],
        gap=3,
    )


def _batch_bar(row: BatchRow) -> Line:
    times = _phase_times(row)
    known = [ms or 0.0 for ms in times]
    whole = sum(known)
    line = [Span(f" micro-batch {row.batch_id}  ")]
    filled, reached = 0, 0.0
    for (_, style), ms in zip(_PHASES, known, strict=True):
        reached += ms
        until = round(reached / whole * _BAR_WIDTH) if whole else 0
        line.append(Span("█" * (until - filled), style))
        filled = until
    line.append(Span(f"{'░' * (_BAR_WIDTH - filled)}  {format_duration(row.duration_ms)} "))
    for (name, style), part in zip(_PHASES, times, strict=True):
        if part is not None:
            line += [Span(f"  {name} ", style), Span(format_duration(part), "dim")]
    return line


def _splits_line(view: JobView) -> Line | None:
    found = sorted(
        (
            (status.pending_records, split)
            for splits in view.splits.values()
            for split, status in splits.items()
            if status.pending_records
        ),
        reverse=True,
    )
    if not found:
        return None
    shown = [f"{split.partition('@')[0]} {count:,}" for count, split in found[:_SPLITS]]
    more = f" and {len(found) - _SPLITS} more" if len(found) > _SPLITS else ""
    return [Span(" waiting  ", "dim"), Span(", ".join(shown) + more)]


def _user_lines(view: JobView, width: int) -> list[Line]:
    """Return the metrics of the program's functions, on a few lines."""
    rows: list[list[str]] = [[]]
    for name, number in view.figures.items():
        shown = f"{name} {format_count(number)}"
        if sum(len(each) + 2 for each in rows[-1]) + len(shown) > width - len(_COUNTED):
            rows.append([])
        rows[-1].append(shown)
    lines: list[Line] = []
    for row in rows[:_COUNTED_LINES]:
        head = " " * len(_COUNTED) if lines else _COUNTED
        if row:
            lines.append([Span(head, "dim"), Span(", ".join(row))])
    return lines


def _operator_lines(view: JobView, width: int, height: int) -> list[Line]:
    wide = width >= _NARROW
    titles = ["in", "out", "in/s", "out/s"] if wide else ["in/s", "out/s"]
    columns = [
        Column("operator", 10),
        *(Column(title, 6, right=True) for title in titles),
        Column("busy", _BUSY_WIDTH + 5),
        Column("behind", 11, right=True),
        Column("state", 9, right=True),
        Column("lost", 5, right=True),
    ]
    others = sum(max(column.width, len(column.title)) + 2 for column in columns[1:]) + 3
    infos = view.graph.operators
    shown = infos if len(infos) < height else infos[: height - 2]
    firsts = {vertex.operators[0] for vertex in view.graph.vertices}
    rows = []
    for info in shown:
        each = view.operators[info.id]
        is_first = info.id in firsts
        name = shorten(info.name if is_first else f"  {info.name}", max(width - others, 10))
        is_sink = info.kind == "sink"
        numbers = [_count(each.in_rate), _count(None if is_sink else each.out_rate)]
        if wide:
            written = None if is_sink else each.counts.records_out
            numbers = [_count(each.records_in), _count(written), *numbers]
        behind = _behind(each, view.now_ms) if is_first and not is_sink else ""
        lost = each.late + each.bad
        rows.append(
            [
                [Span(name)],
                *numbers,
                _busy_bar(each.busy),
                [Span(behind)],
                [Span(_state_text(each))],
                [Span(f"{lost:,}" if lost else "", "yellow")],
            ]
        )
    lines = table_lines(columns, rows)
    if len(infos) > len(shown):
        lines.append([Span(f" and {len(infos) - len(shown)} more", "dim")])
    return lines


def _count(number: float | None) -> Line:
    return [Span("" if number is None else format_count(number))]


def _behind(operator: OperatorView, now_ms: int) -> str:
    watermark = operator.watermark_ms
    if watermark is None:
        return NONE
    return "end" if watermark >= 1 << 52 else format_duration(now_ms - watermark)


def _state_text(operator: OperatorView) -> str:
    counts = operator.counts
    if counts.state_bytes is not None:
        return format_bytes(counts.state_bytes)
    return "" if counts.state_entries is None else f"{format_count(counts.state_entries)} keys"


def _busy_bar(busy: float | None) -> Line:
    if busy is None:
        return []
    filled = round(busy * _BUSY_WIDTH)
    style = "green" if busy < 0.6 else "yellow" if busy < 0.85 else "red"
    rest = "·" * (_BUSY_WIDTH - filled)
    return [Span("■" * filled, style), Span(rest, "dim"), Span(f" {busy:4.0%}")]
