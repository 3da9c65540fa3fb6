"""``headrace dev``: servers for development on this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Servers for development on this machine.", no_args_is_help=True)

Folder = Annotated[
    Path,
    typer.Option("--dir", metavar="DIR", help="Where the servers' files are."),
]
Port = Annotated[int | None, typer.Option(metavar="N", help="Its port; 0 takes any that is free.")]
_FOLDER = Path(".headrace", "dev")


@app.command()
def up(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SERVER]...", help="kafka, registry, redis or postgres."),
    ] = None,
    folder: Folder = _FOLDER,
    kafka_port: Port = None,
    registry_port: Port = None,
    redis_port: Port = None,
    postgres_port: Port = None,
) -> None:
    """Start Kafka and a schema registry, and Redis and PostgreSQL if they are installed.

    The first start fetches Kafka and the registry (150 MB). The servers listen on 127.0.0.1 only.
    Without a port a server takes its usual one, or a free one if that is taken. They run until
    `headrace dev down`.
    """
    from headrace.dev import servers

    text = {
        "kafka": kafka_port,
        "registry": registry_port,
        "redis": redis_port,
        "postgres": postgres_port,
    }
    ports = {name: port for name, port in text.items() if port is not None}
    for name in names or servers.MAKERS:
        if name in servers.MAKERS and servers.status(folder)[name] is None:
            typer.echo(f"{name:<10} starting", err=True)  # it may take seconds
        server = servers.up(folder, [name], ports)[name]
        _print_line(name, server.url if server else "not installed")


@app.command()
def down(
    folder: Folder = _FOLDER,
    wipe: Annotated[
        bool, typer.Option("--wipe", help="Remove the servers' files, too: topics, tables, keys.")
    ] = False,
) -> None:
    """Stop the servers of this folder. Their data is kept, except the registry's schemas."""
    from headrace.dev import servers

    stopped = servers.down(folder, wipe=wipe)
    for server in stopped:
        _print_line(server.name, "stopped")
    if not stopped:
        typer.echo("nothing runs")


@app.command()
def status(folder: Folder = _FOLDER) -> None:
    """Print which servers of this folder run, where, and their logs."""
    from headrace.dev import servers

    for name, server in servers.status(folder).items():
        if server is None:
            _print_line(name, "does not run")
        else:
            _print_line(name, f"{server.url}  process {server.process.pid}, log {server.log}")


@app.command()
def url(
    name: Annotated[str, typer.Argument(metavar="SERVER", help="redis, postgres, …")],
    folder: Folder = _FOLDER,
) -> None:
    """Print the address of a server, with its password if it has one."""
    from headrace.dev.servers import url_of

    typer.echo(url_of(folder, name))


@app.command()
def dashboards(
    to: Annotated[
        Path | None, typer.Option("--to", metavar="DIR", help="Copy the files into this folder.")
    ] = None,
) -> None:
    """List the dashboards for Grafana and the alert rules for Prometheus, or copy them.

    They show the metrics of jobs that report to Prometheus.
    """
    from headrace.dev import dashboards as found

    for line in found.names() if to is None else found.copy_to(to):
        typer.echo(line)


@app.command()
def topics(
    create: Annotated[str | None, typer.Option(metavar="NAME", help="Create this topic.")] = None,
    partitions: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many partitions the new topic gets.")
    ] = 1,
    config: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A setting of the new topic: retention.ms=-1."),
    ] = None,
    delete: Annotated[str | None, typer.Option(metavar="NAME", help="Delete this topic.")] = None,
    folder: Folder = _FOLDER,
) -> None:
    """List the topics; create or delete one before.

    Offsets count records, and the markers that end transactions.
    """
    from headrace.dev import topics as kafka_topics
    from headrace.dev.servers import url_of

    settings = dict(map(_parse_setting, config or []))
    if settings and not create:
        raise typer.BadParameter("--config belongs to --create: it sets up a new topic")
    servers = url_of(folder, "kafka")
    if create:
        kafka_topics.create(servers, create, partitions, **settings)
    if delete:
        kafka_topics.delete(servers, delete)
    for topic in kafka_topics.list_topics(servers):
        _print_line(topic.name, f"{topic.partitions} partitions, {topic.records} offsets")


@app.command()
def produce(
    topic: Annotated[str, typer.Argument(help="A topic that exists.")],
    key_separator: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="SEPARATOR",
            help="Splits a line: key, value. Without it: no key.",
        ),
    ] = None,
    folder: Folder = _FOLDER,
) -> None:
    """Write the lines of the standard input to TOPIC, a record each."""
    from headrace.dev import topics as kafka_topics
    from headrace.dev.servers import url_of

    servers = url_of(folder, "kafka")
    count = kafka_topics.produce(servers, topic, _read_records(key_separator))
    typer.echo(f"{count} record{'s' * (count != 1)} written", err=True)


@app.command()
def consume(
    topic: Annotated[str, typer.Argument(help="A topic that exists.")],
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for new records at the end.")
    ] = False,
    max_records: Annotated[
        int | None, typer.Option("--max", metavar="N", help="Stop after N records.")
    ] = None,
    places: Annotated[
        bool, typer.Option("--places", help="Print partition:offset and the key before the value.")
    ] = False,
    folder: Folder = _FOLDER,
) -> None:
    """Print the values of TOPIC from its beginning, a line each; control characters are escaped."""
    from headrace.dev import topics as kafka_topics
    from headrace.dev.servers import url_of

    servers = url_of(folder, "kafka")
    records = kafka_topics.consume(servers, topic, follow=follow)
    for record in islice(records, max_records):  # never waits for one more record
        place = (
            f"{record.partition}:{record.offset}\t{_to_printable(record.key)}\t" if places else ""
        )
        typer.echo(place + _to_printable(record.value))


def _parse_setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE: --config retention.ms=-1")
    return name, value


def _read_records(separator: str | None) -> Iterator[tuple[bytes | None, bytes]]:
    for line in sys.stdin.buffer:
        key, found, value = line.rstrip(b"\r\n").partition((separator or "\0").encode())
        yield (key, value) if separator and found else (None, key + found + value)


def _to_printable(data: bytes | None) -> str:
    """Return a value as one line of text; escape control characters and bytes that are no text."""
    text = "" if data is None else data.decode(errors="backslashreplace")
    return "".join(c if c.isprintable() or c == "\t" else _escape_character(c) for c in text)


def _escape_character(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _print_line(name: str, text: str) -> None:
    typer.echo(f"{name:<10} {text}")
