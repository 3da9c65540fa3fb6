"""The trade-lifecycle job: three feeds in, order hierarchies and anomalies out.

    alpha.fix  ─▶ decode ─▶ time ─▶ normalise ─┐
    beta.jsonl ─▶ decode ─▶ time ─▶ normalise ─┼─▶ by instrument ─▶ link ─▶ orders
    gamma.csv  ─▶ decode ─▶ time ─▶ normalise ─┘         │            └──▶ anomalies
                    └──────────────────┴─────────────────┴───────────────▶

The same program is a stream and a batch: the environment's runtime mode decides.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace.common import Duration, Encoder, WatermarkStrategy
from headrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import (
    FileSink,
    FileSource,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
)
from headrace.datastream.functions import (
    KeyedProcessFunction,
    ProcessFunction,
    RuntimeContext,
)
from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from headrace.demo.trades import beta, fix, gamma
from headrace.demo.trades.book import Book
from headrace.demo.trades.events import Anomaly, DecodedEvent, NormalisedEvent
from headrace.demo.trades.hierarchy import OrderDocument
from headrace.demo.trades.linker import WAIT_MS, Linker
from headrace.demo.trades.reference import Enricher
from headrace.errors import DecodeError
from headrace.metrics import MetricGroup

FEEDS = ("alpha.fix", "beta.jsonl", "gamma.csv")
ANOMALIES = OutputTag("anomalies")

Line = tuple[bytes, str, int]
"""A line without its end, the path of its file, and its byte offset."""


def count_anomaly(group: MetricGroup, kind: str) -> None:
    """Count an anomaly; in metric reporters its kind is a label."""
    group.add_group("kind", kind).counter("anomalies").inc()


class Decode(ProcessFunction):
    """Decodes a line to (event, raw line); an invalid line becomes an anomaly."""

    def __init__(self, feed: str, columns: dict[str, tuple[str, ...]] | None = None) -> None:
        self._feed = feed
        self._columns = columns
        self._decoders: dict[str, gamma.Decoder] = {}

    def open(self, runtime_context: RuntimeContext) -> None:
        """Register the counters."""
        self._group = runtime_context.get_metrics_group()
        self._records = self._group.counter("records")

    def process_element(self, value: Line, ctx: Any) -> Iterator[Any]:
        """Yield the decoded event of one line."""
        line, path, position = value
        if not line.strip():
            return  # an empty line is no record
        if position == 0 and self._columns is not None and path in self._columns:
            return  # the header
        self._records.inc()
        try:
            event = self._decode(line, path)
        except DecodeError as error:
            count_anomaly(self._group, "MALFORMED")
            source = Path(path).name
            yield (
                ANOMALIES,
                Anomaly("MALFORMED", None, source, position, error.message, line),
            )
        else:
            yield event, line

    def _decode(self, line: bytes, path: str) -> DecodedEvent:
        if self._columns is None:
            return fix.decode(line) if self._feed == "alpha.fix" else beta.decode(line)
        decoder = self._decoders.get(path)
        if decoder is None:
            # A file without a header has the columns of the first file.
            columns = self._columns.get(path) or next(iter(self._columns.values()), gamma.COLUMNS)
            decoder = self._decoders[path] = gamma.Decoder(columns)
        return decoder.decode(line)


class Normalise(ProcessFunction):
    """Normalises events; unknown symbols and accounts become anomalies."""

    def __init__(self, enricher: Enricher) -> None:
        self._enricher = enricher

    def open(self, runtime_context: RuntimeContext) -> None:
        """Register the counters."""
        self._group = runtime_context.get_metrics_group()

    def process_element(self, value: tuple[DecodedEvent, bytes], ctx: Any) -> Iterator[Any]:
        """Emit the normalised event."""
        event, anomalies = self._enricher.normalise(*value)
        for anomaly in anomalies:
            count_anomaly(self._group, anomaly.kind)
            yield ANOMALIES, anomaly
        if event is not None:
            yield event


class Link(KeyedProcessFunction):
    """Links the events of one instrument: they are sorted by event time, then go to the linker."""

    def __init__(self, allowed_lateness_ms: int, wait_ms: int = WAIT_MS) -> None:
        self._allowed_lateness_ms = allowed_lateness_ms
        self._wait_ms = wait_ms

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the instrument's book on keyed state."""

        def table(name: str) -> Any:
            return runtime_context.get_map_state(MapStateDescriptor(name, None, None))

        self._pending = table("pending")
        self._linker = Linker(
            Book(
                hierarchies=table("hierarchies"),
                orders=table("orders"),
                executions=table("executions"),
                waiting=table("waiting"),
                seen=table("seen"),
                due=table("due"),
                deadlines=runtime_context.get_state(ValueStateDescriptor("deadlines", None)),
            ),
            self._wait_ms,
        )
        self._group = runtime_context.get_metrics_group()
        self._documents = self._group.counter("documents")
        self._hierarchies = self._group.counter("hierarchies")
        self._open = self._group.counter("open")
        self._latency = self._group.distribution("latencyMs")

    def process_element(self, value: NormalisedEvent, ctx: Any) -> Iterator[Any]:
        """Store an event until the watermark guarantees that no earlier one follows."""
        moment = value.event_time_ms
        timers = ctx.timer_service()
        if moment <= timers.current_watermark() - self._allowed_lateness_ms:
            behind = timers.current_watermark() - moment
            reason = f"the event is {behind} ms behind the watermark"
            yield ANOMALIES, self._count_anomaly(Anomaly("LATE", value.event_id, reason=reason))
            return
        events = self._pending.get(moment)
        if events is None:
            events = []
        events.append(value)
        self._pending.put(moment, events)
        timers.register_event_time_timer(moment)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        """Apply the events of a timestamp in order, then process due deadlines."""
        outputs: list[OrderDocument | Anomaly] = []
        events = self._pending.get(timestamp)
        if events is not None:
            self._pending.remove(timestamp)
            for event in sorted(events, key=lambda event: event.turn):
                outputs += self._linker.apply(event)
        outputs += self._linker.advance(timestamp)
        deadline = self._linker.deadline()
        if deadline is not None:
            ctx.timer_service().register_event_time_timer(deadline)
        latency_ms = ctx.timer_service().current_processing_time() - timestamp
        for output in outputs:
            if isinstance(output, Anomaly):
                yield ANOMALIES, self._count_anomaly(output)
            else:
                self._count(output)
                self._latency.update(latency_ms)
                yield self._format_document(output)

    def _format_document(self, document: OrderDocument) -> Any:
        return document.text

    def _count_anomaly(self, anomaly: Anomaly) -> Anomaly:
        count_anomaly(self._group, anomaly.kind)
        return anomaly

    def _count(self, document: OrderDocument) -> None:
        self._documents.inc()
        if document.version == 1:
            self._hierarchies.inc()
        self._open.inc(document.opened)


def feed_paths(directory: Path, feed: str) -> list[Path]:
    """Return the files of a feed: ``alpha.fix``, and any pieces ``alpha*.fix`` or ``alpha/*``."""
    stem, suffix = feed.split(".")
    found = {*directory.glob(f"{stem}*.{suffix}"), *(directory / stem).glob(f"*.{suffix}")}
    return sorted(path for path in found if path.is_file())


def build(
    env: StreamExecutionEnvironment,
    input_dir: Path,
    out_of_orderness_ms: int = 5_000,
    allowed_lateness_ms: int = 0,
) -> tuple[DataStream, DataStream]:
    """Return the streams of order documents (JSON text) and anomalies (``Anomaly``) of a folder."""
    enricher = Enricher.read(input_dir)
    normalised: list[DataStream] = []
    anomalies: list[DataStream] = []
    for feed in FEEDS:
        paths = feed_paths(input_dir, feed)
        if not paths:
            continue
        source = FileSource.for_record_stream_format(
            StreamFormat.bytes_line_format(with_position=True), *map(str, paths)
        ).build()
        columns = _read_headers(paths) if feed == "gamma.csv" else None
        decoded = (
            env.from_source(source, None, feed)
            .uid(f"read-{feed}")
            .process(Decode(feed, columns))
            .name(f"decode {feed}")
            .uid(f"decode-{feed}")
        )
        timed = decoded.assign_timestamps_and_watermarks(
            WatermarkStrategy.for_bounded_out_of_orderness(
                Duration.of_millis(out_of_orderness_ms)
            ).with_timestamp_assigner(lambda pair: pair[0].event_time_ms)
        )
        events = (
            timed.process(Normalise(enricher)).name(f"normalise {feed}").uid(f"normalise-{feed}")
        )
        normalised.append(events)
        anomalies += [decoded.get_side_output(ANOMALIES), events.get_side_output(ANOMALIES)]
    if not normalised:
        raise FileNotFoundError(f"no feed in {input_dir}: expected {', '.join(FEEDS)}")
    linked = (
        normalised[0]
        .union(*normalised[1:])
        .key_by(lambda event: event.instrument_id)
        .process(Link(allowed_lateness_ms))
        .name("link orders")
        .uid("link")
    )
    found = anomalies[0].union(*anomalies[1:], linked.get_side_output(ANOMALIES))
    return linked, found


def write(documents: DataStream, anomalies: DataStream, output_dir: Path) -> None:
    """Write both streams to files, exactly once."""
    documents.sink_to(_make_file_sink(output_dir / "orders")).name("orders").uid("orders")
    anomalies.map(_anomaly_line).name("to JSON").sink_to(
        _make_file_sink(output_dir / "anomalies")
    ).name("anomalies").uid("anomalies")


def _anomaly_line(anomaly: Anomaly) -> str:
    return json.dumps(anomaly.to_json())


def _make_file_sink(directory: Path) -> FileSink:
    return (
        FileSink.for_row_format(str(directory), Encoder.simple_string_encoder())
        .with_output_file_config(OutputFileConfig("part", ".jsonl"))
        .with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=1 << 30))
        .build()
    )


def has_header(path: Path) -> bool:
    """Return whether the first line of a GAMMA file contains the column names."""
    return _read_header(path) is not None


def _read_headers(paths: list[Path]) -> dict[str, tuple[str, ...]]:
    """Return the columns of files with a header, by path."""
    found = {str(path): _read_header(path) for path in paths}
    return {path: columns for path, columns in found.items() if columns is not None}


def _read_header(path: Path) -> tuple[str, ...] | None:
    """Return the column names in a GAMMA file's first line, or None if it has no header."""
    with path.open("rb") as file:
        columns = gamma.header(file.readline().rstrip(b"\r\n"))
    return columns if "seq" in columns else None


__all__ = ["ANOMALIES", "FEEDS", "build", "feed_paths", "has_header", "write"]
