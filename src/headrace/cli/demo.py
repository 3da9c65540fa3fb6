"""``headrace demo``: jobs that are part of the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Jobs that come with Headrace.", no_args_is_help=True)


@app.callback()
def demo() -> None:
    """Jobs that come with Headrace."""


@app.command()
def trades(
    input_dir: Annotated[
        Path | None,
        typer.Option(
            "--input", metavar="DIR", exists=True, file_okay=False, help="Feeds of your own."
        ),
    ] = None,
    output_dir: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="DIR", file_okay=False, help="Where the documents are written."
        ),
    ] = None,
    events: Annotated[
        int,
        typer.Option("--events", min=1, metavar="N", help="Events of the generated day."),
    ] = 200_000,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="The same seed generates the same day.")
    ] = 1,
    display: Annotated[
        bool, typer.Option("--display/--no-display", help="Show the job live while it runs.")
    ] = True,
    kafka: Annotated[
        bool, typer.Option("--kafka", help="Read from and write to Kafka; starts a broker.")
    ] = False,
    rate: Annotated[
        float, typer.Option("--rate", min=1, metavar="N", help="With --kafka: messages per second.")
    ] = 1_000,
    other_wait_ms: Annotated[
        int | None,
        typer.Option(
            "--ab-wait",
            min=0,
            metavar="MS",
            help="With --kafka: also run a version B, whose events wait this long for orders.",
        ),
    ] = None,
    backfill: Annotated[
        bool,
        typer.Option(
            "--backfill",
            help="With --kafka: a first run reads half of the day, the stream goes on.",
        ),
    ] = False,
) -> None:
    """Link three trading systems' messages into order hierarchies, as a stream and as a batch."""
    if kafka:
        if input_dir is not None:
            raise typer.BadParameter("--kafka generates the day: it cannot be used with --input")
        from headrace.demo.trades.kafka import main as on_kafka

        raise typer.Exit(
            on_kafka(
                output_dir=output_dir,
                events=events,
                seed=seed,
                rate=rate,
                display=display,
                other_wait_ms=other_wait_ms,
                backfill=backfill,
            )
        )
    if backfill or other_wait_ms is not None:
        raise typer.BadParameter("--backfill and --ab-wait need --kafka")
    from headrace.demo.trades import main

    raise typer.Exit(
        main(input_dir=input_dir, output_dir=output_dir, events=events, seed=seed, display=display)
    )
