"""The report after the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from headrace.demo.trades.kafka.comparing import differences
from headrace.demo.trades.kafka.display import shown
from headrace.demo.trades.kafka.running import RunResult

_EXAMPLES = 3

Read = Callable[[bytes], dict[str, Any]]


def show_counts(runs: Sequence[RunResult], messages: int, console: Console) -> None:
    """Print the results of each run's messages."""
    table = Table(title="What became of the messages")
    table.add_column("")
    for run in runs:
        table.add_column(run.name, justify="right")
    table.add_row("messages in", *(f"{messages:,}" for _ in runs))
    table.add_row("events normalised", *(f"{run.watcher.normalised:,}" for run in runs))
    table.add_row("documents out", *(f"{run.documents:,}" for run in runs))
    for kind in sorted({kind for run in runs for kind in run.watcher.anomalies}):
        table.add_row(f"anomaly {kind}", *(f"{run.watcher.anomalies[kind]:,}" for run in runs))
    table.add_row("messages accounted for", *(f"{run.accounted:,}" for run in runs))
    table.add_row("seconds", *(f"{run.seconds:.1f}" for run in runs))
    console.print(table)


def show_backfill(run: RunResult, messages: int, console: Console) -> None:
    """Print how far the history was read before the stream took over."""
    console.print(
        f"backfill: {messages:,} messages read in {run.seconds:.1f} s, {run.documents:,} documents;"
        " the stream goes on from its checkpoint",
        highlight=False,
        soft_wrap=True,
    )


def show_latencies(runs: Sequence[RunResult], console: Console) -> None:
    """Print the latencies from events to documents."""
    for run in runs:
        latencies = run.watcher.latencies.all()
        console.print(
            f"{run.name}, from event to document ({len(latencies):,} documents): "
            + shown(latencies),
            highlight=False,
            soft_wrap=True,
        )


def show_versions(first: RunResult, second: RunResult, read: Read, console: Console) -> None:
    """Print where the final documents of two versions differ."""
    mine, theirs = first.watcher.final_documents(), second.watcher.final_documents()
    found = differences(mine, theirs, read)
    roots = len(mine.keys() | theirs.keys())
    console.print(
        f"{second.name}: {len(found):,} of {roots:,} final documents differ", highlight=False
    )
    for name, count in Counter(name for each in found for name in each.fields).most_common():
        console.print(f"  {name}: {count:,}", highlight=False)
    for each in found[:_EXAMPLES]:
        differing_fields = ", ".join(each.differing_fields) or "only one has a document"
        console.print(
            f"  for example {each.root}: {differing_fields}", highlight=False, soft_wrap=True
        )


def verdict(
    stream: RunResult,
    batch: RunResult,
    read: Read,
    runs: Sequence[RunResult],
    messages: int,
    console: Console,
) -> int:
    """Print whether stream and batch agree and all messages are accounted for; returns 0 if so."""
    first, second = stream.watcher.final_documents(), batch.watcher.final_documents()
    found = differences(first, second, read)
    if found:
        console.print(f"[red]{len(found):,} final documents differ[/], {found[0].root} is one")
    else:
        console.print(
            f"[green]All {len(first):,} final documents are equal in stream and batch.[/]"
        )
    complete = all(run.accounted == messages for run in runs)
    if not complete:
        console.print("[red]Not every message is accounted for.[/]")
    return 0 if complete and not found else 1
