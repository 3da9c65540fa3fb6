"""What the programs of the DataStream API share: the same text for PyFlink and for Headrace."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bench import jobs
from bench.kafka.inputs import STATELESS

Options = dict[str, str]


def source(package: str, job_options: Options, deserializer: Any) -> Any:
    """The topic from its beginning; to its end, or without end for job ``pass``."""
    kafka = import_module(f"{package}.datastream.connectors.kafka")
    offsets = kafka.KafkaOffsetsInitializer
    builder = (
        kafka.KafkaSource.builder()
        .set_bootstrap_servers(job_options["brokers"])
        .set_topics(job_options["topic"])
        .set_group_id(package)
        .set_starting_offsets(offsets.earliest())
        .set_value_only_deserializer(deserializer)
    )
    return (
        builder if job_options["job"] == "pass" else builder.set_bounded(offsets.latest())
    ).build()


def sink(package: str, job_options: Options, serializer: Any) -> Any:
    """The output, with the guarantee that is asked for."""
    kafka = import_module(f"{package}.datastream.connectors.kafka")
    base = import_module(f"{package}.datastream.connectors.base")
    schema = kafka.KafkaRecordSerializationSchema.builder().set_topic(job_options["output"])
    return (
        kafka.KafkaSink.builder()
        .set_bootstrap_servers(job_options["brokers"])
        .set_record_serializer(schema.set_value_serialization_schema(serializer).build())
        .set_delivery_guarantee(base.DeliveryGuarantee[job_options["guarantee"]])
        .set_transactional_id_prefix(job_options["output"])
        .set_property("transaction.timeout.ms", "600000")
        .set_property("compression.type", "lz4")
        .build()
    )


def keyed(api: jobs.Api, job: str, triples: Any) -> Any:
    """The outputs of the jobs with a keyed count, as tuples."""
    counting = jobs.count_and_sum(api, _same if job == "pass" else None)
    by_key = triples.key_by(lambda record: record[0], api.long())
    return by_key.process(counting, api.longs(3))


def _same(key: int) -> int:
    return key


def fields(job: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the fields that a job reads, and of those that it writes."""
    if job == STATELESS:
        return ("id", "symbol", "price", "quantity"), ("id", "symbol", "notional")
    read = ("key", "value", "time")
    return read, read if job == "pass" else ("key", "count", "total")


def configured(job_options: Options) -> dict[str, str]:
    """Configuration keys among the options: ``conf:<key>``."""
    return {k.removeprefix("conf:"): v for k, v in job_options.items() if k.startswith("conf:")}
