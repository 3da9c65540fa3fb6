"""Orders from Kafka to Kafka in SQL: the same text for Flink and for Headrace."""

from __future__ import annotations

from collections.abc import Mapping

from bench.sql import program

QUERY = (
    "INSERT INTO summaries SELECT id, symbol, price * quantity FROM orders"
    " WHERE MOD(quantity, 2) = 0"
)


def tables(job_options: Mapping[str, str]) -> list[str]:
    """The statements that make the table of the input, bounded at its end, and of the output."""
    both = {
        "connector": "kafka",
        "properties.bootstrap.servers": job_options["brokers"],
        "format": "json",
    }
    orders = {
        **both,
        "topic": job_options["topic"],
        "properties.group.id": "sql",
        "scan.startup.mode": "earliest-offset",
        "scan.bounded.mode": "latest-offset",
    }
    summaries = {
        **both,
        "topic": job_options["output"],
        "sink.delivery-guarantee": "exactly-once",
        "sink.transactional-id-prefix": job_options["output"],
        "properties.transaction.timeout.ms": "600000",
        "properties.compression.type": "lz4",
    }
    return [
        _table("orders", "id BIGINT, symbol STRING, price BIGINT, quantity BIGINT", orders),
        _table("summaries", "id BIGINT, symbol STRING, notional BIGINT", summaries),
    ]


def run(package: str, job_options: Mapping[str, str], settings: Mapping[str, str]) -> None:
    """Run the statement to its end."""
    made = program.environment(package, settings)
    for statement in tables(job_options):
        made.execute_sql(statement)
    made.execute_sql(QUERY).wait()


def _table(name: str, columns: str, options: Mapping[str, str]) -> str:
    given = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    return f"CREATE TABLE {name} ({columns}) WITH ({given})"
