"""``headrace demo``: jobs that come with the package."""

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
            "--input", metavar="DIR", exists=True, file_okay=False, help="Feeds from elsewhere."
        ),
    ] = None,
    output_dir: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="DIR", file_okay=False, help="Where the documents are written."
        ),
    ] = None,
    events: Annotated[
        int, typer.Option("--events", min=1, metavar="N", help="Events of the day that is made.")
    ] = 200_000,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="The same seed makes the same day.")
    ] = 1,
    display: Annotated[
        bool, typer.Option("--display/--no-display", help="Show the job live while it runs.")
    ] = True,
    kafka: Annotated[
        bool, typer.Option("--kafka", help="From Kafka to Kafka, through a broker of its own.")
    ] = False,
    rate: Annotated[
        float, typer.Option("--rate", min=1, metavar="N", help="Messages a second, with --kafka.")
    ] = 1_000,
    other_wait_ms: Annotated[
        int | None,
        typer.Option(
            "--ab-wait",
            min=0,
            metavar="MS",
            help="With --kafka: beside it version B, whose events wait so long for their orders.",
        ),
    ] = None,
    backfill: Annotated[
        bool,
        typer.Option(
            "--backfill",
            help="With --kafka: half of the day is history, which a run of its own reads first.",
        ),
    ] = False,
) -> None:
    """Link three trading systems' messages into order hierarchies, as a stream and as a batch."""
    if kafka:
        if input_dir is not None:
            raise typer.BadParameter("with --kafka the day is made: leave --input out")
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
    from headrace.demo.trades import main

    raise typer.Exit(
        main(input_dir=input_dir, output_dir=output_dir, events=events, seed=seed, display=display)
    )
