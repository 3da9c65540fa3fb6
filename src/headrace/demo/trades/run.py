"""``headrace demo trades``: runs the job as a stream and as a batch, and compares them."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.demo.trades import generator, job
from headrace.demo.trades.trees import hierarchy_tree
from headrace.errors import ConfigurationError

DEFAULT_OUTPUT = Path("demo-output")
RECORDS_PER_BATCH = 30_000
_TREES_SHOWN = 3
_ORDERS_SHOWN = 8

# An input record with one of these emits no document; with other kinds it emits one, too.
TERMINAL = frozenset(
    {"MALFORMED", "UNKNOWN_INSTRUMENT", "DUPLICATE", "CLOSED_ORDER", "ORPHAN", "LATE"}
)


@dataclass(frozen=True)
class Outcome:
    """The output of one run of the job."""

    orders: Path
    anomalies: Path
    records: int
    seconds: float

    def final_documents(self) -> dict[str, dict[str, Any]]:
        """Return the last document of each root."""
        final: dict[str, str] = {}
        with self.orders.open(encoding="utf-8") as lines:
            for line in lines:
                final[line[9 : line.index('"', 9)]] = line
        return {root: json.loads(line) for root, line in final.items()}

    def anomaly_kinds(self) -> Counter[str]:
        """Return the number of anomalies of each kind."""
        with self.anomalies.open(encoding="utf-8") as lines:
            return Counter(json.loads(line)["kind"] for line in lines)

    def documents(self) -> int:
        """Return the number of documents."""
        with self.orders.open("rb") as lines:
            return sum(1 for _ in lines)


def main(
    *,
    input_dir: Path | None,
    output_dir: Path | None,
    events: int,
    seed: int,
    display: bool,
) -> int:
    """Run the demo; returns 0 if stream and batch agree and every record is accounted for."""
    console = Console()
    output = (output_dir or DEFAULT_OUTPUT).resolve()
    output.mkdir(parents=True, exist_ok=True)
    source = (
        input_dir.resolve() if input_dir else _generate_day(output / "day", events, seed, console)
    )
    stream = run_job(source, output, "STREAMING", display)
    _show_trees(stream, console)
    batch = run_job(source, output / "batch", "BATCH", display)
    return _print_verdict(stream, batch, console)


def _generate_day(directory: Path, events: int, seed: int, console: Console) -> Path:
    """Return a generated day; one that exists with the same arguments is used again."""
    wanted = {"events": events, "seed": seed}
    marker = directory / "day.json"
    if marker.exists() and json.loads(marker.read_text()) == wanted:
        console.print(f"The day of {events:,} events (seed {seed}) lies in {directory}")
        return directory
    if directory.exists() and not marker.exists():
        raise ConfigurationError(
            f"{directory} is there already, and is no day that this demo made",
            hint="choose another --output, or read those feeds with --input",
        )
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    marker.write_text("{}")
    started = time.monotonic()
    day = generator.generate(directory, events=events, seed=seed)
    marker.write_text(json.dumps(wanted))
    feeds = ", ".join(f"{name} {count:,}" for name, count in day.records.items())
    seconds = time.monotonic() - started
    console.print(f"Made a day of {events:,} events (seed {seed}) in {seconds:.1f} s: {feeds}")
    return directory


def configuration(checkpoint: Path, mode: str) -> Configuration:
    """Return the job's configuration: name, mode and checkpoint."""
    settings = Configuration()
    settings.set_string("pipeline.name", "trades")
    settings.set_string("execution.runtime-mode", mode)
    settings.set_integer("headrace.source.max-records-per-batch", RECORDS_PER_BATCH)
    if mode == "STREAMING":
        settings.set_string("execution.checkpointing.dir", str(checkpoint))
    return settings


def run_job(source: Path, output: Path, mode: str, display: bool) -> Outcome:
    """Run the job once; it writes ``orders.jsonl`` and ``anomalies.jsonl`` in ``output``.

    A killed stream over the same files continues from its checkpoint; any other run starts anew.
    """
    work = output / ".headrace"  # nothing else is ever removed
    parts, checkpoint = work / "parts", work / "checkpoint"
    input_file, input_text = checkpoint / "input", _describe_feeds(source)
    unfinished = input_file.exists() and input_file.read_text() == input_text
    if mode == "BATCH" or not unfinished:
        shutil.rmtree(work, ignore_errors=True)
    checkpoint.mkdir(parents=True, exist_ok=True)
    input_file.write_text(input_text)
    settings = configuration(checkpoint, mode)
    settings.set_string("headrace.ui.terminal", "auto" if display else "off")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    job.write(*job.build(env, source), parts)
    started = time.monotonic()
    client = env.execute_async("trades")
    client.get_job_execution_result().result()
    seconds = time.monotonic() - started
    outcome = Outcome(
        _gather(parts / "orders", output / "orders.jsonl"),
        _gather(parts / "anomalies", output / "anomalies.jsonl"),
        count_records(source),
        seconds,
    )
    shutil.rmtree(work)
    return outcome


def _describe_feeds(source: Path) -> str:
    """Return the identity of the feeds: folder, file names, sizes and modification times."""
    files = sorted(path for feed in job.FEEDS for path in job.feed_paths(source, feed))
    return "\n".join(
        [
            str(source),
            *(f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files),
        ]
    )


def _gather(parts: Path, target: Path) -> Path:
    """Concatenate the part files, ordered by name."""
    aside = target.with_suffix(".tmp")
    with aside.open("wb") as out:
        for part in sorted(parts.glob("*.jsonl")) if parts.exists() else []:
            with part.open("rb") as lines:
                shutil.copyfileobj(lines, out, 1 << 20)
    return aside.replace(target)


def count_records(source: Path) -> int:
    """Return the number of records in the feeds: lines that are neither empty nor headers."""
    count = 0
    for feed in job.FEEDS:
        for path in job.feed_paths(source, feed):
            with path.open("rb") as lines:
                count += sum(1 for line in lines if line.strip())
            if feed == "gamma.csv" and job.has_header(path):
                count -= 1
    return count


def _show_trees(outcome: Outcome, console: Console) -> None:
    """Print a few hierarchies that fit on a screen: one for each system, of many states."""
    shown: dict[str, dict[str, Any]] = {}
    fitting = (d for d in outcome.final_documents().values() if len(d["orders"]) <= _ORDERS_SHOWN)
    for document in sorted(fitting, key=_measure_variety, reverse=True):
        shown.setdefault(document["root"].partition(":")[0], document)
    for document in list(shown.values())[:_TREES_SHOWN]:
        console.print(hierarchy_tree(document))


def _measure_variety(document: dict[str, Any]) -> tuple[int, int, int]:
    states = {order["status"] for order in document["orders"]}
    return len(states), len(document["orders"]), document["version"]


def _print_verdict(stream: Outcome, batch: Outcome, console: Console) -> int:
    """Print the comparison; returns 0 if all is correct."""
    table = Table(title="What became of the records")
    table.add_column("")
    table.add_column("stream", justify="right")
    table.add_column("batch", justify="right")
    runs = (stream, batch)
    kinds = [run.anomaly_kinds() for run in runs]
    documents = [run.documents() for run in runs]
    table.add_row("records in", *(f"{run.records:,}" for run in runs))
    table.add_row("documents out", *(f"{count:,}" for count in documents))
    for kind in sorted(kinds[0].keys() | kinds[1].keys()):
        table.add_row(f"anomaly {kind}", *(f"{found[kind]:,}" for found in kinds))
    accounted = [
        count + sum(found[kind] for kind in TERMINAL)
        for count, found in zip(documents, kinds, strict=True)
    ]
    table.add_row("records accounted for", *(f"{count:,}" for count in accounted))
    table.add_row("seconds", *(f"{run.seconds:.1f}" for run in runs))
    console.print(table)
    complete = all(count == run.records for count, run in zip(accounted, runs, strict=True))
    first, second = stream.final_documents(), batch.final_documents()
    different = [
        root for root in first.keys() | second.keys() if first.get(root) != second.get(root)
    ]
    if different:
        console.print(f"[red]{len(different):,} final documents differ[/], {different[0]} is one")
    else:
        console.print(
            f"[green]All {len(first):,} final documents are equal in stream and batch.[/]"
        )
    if not complete:
        console.print("[red]Not every record is accounted for.[/]")
    for run, name in zip(runs, ("stream", "batch"), strict=True):
        console.print(f"{name}: {run.orders} and {run.anomalies.name}", soft_wrap=True)
    return 0 if complete and not different else 1
