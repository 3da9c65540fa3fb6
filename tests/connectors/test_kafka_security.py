"""Kafka with logins over TLS: records pass, and a password is shown nowhere.

Whether one is in a checkpoint is asked in ``test_kafka_on_spark``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, SimpleStringSchema, WatermarkStrategy
from headrace.connector import DeliveryGuarantee
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors._kafka.client import librdkafka
from headrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from headrace.dev import topics
from headrace.dev.kafka import kafka
from headrace.dev.ports import HOST, free_ports
from headrace.errors import JobError
from tests.certificates import STORE_PASSWORD, make_certificate

pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")
from tests.connectors.topic import wait_until_visible

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

PASSWORD, WRONG = "correct-horse", "battery-staple"

_LISTENER = """\
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_ssl.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_ann="{password}";
ssl.keystore.type=PKCS12
ssl.keystore.location={keystore}
ssl.keystore.password={store_password}
"""


@contextmanager
def secured(folder: Path) -> Iterator[tuple[str, str, Path]]:
    """A broker: its open address, the one with logins over TLS, and its certificate's file."""
    keystore, certificate = make_certificate(folder)
    more = _LISTENER.format(password=PASSWORD, keystore=keystore, store_password=STORE_PASSWORD)
    try:
        service = kafka(folder / "kafka", 0, memory="512m", more=more)
    except JobError as error:
        pytest.skip(f"missing: kafka: {error.message}; {error.hint}")
    secure = f"{HOST}:{free_ports(1)[0]}"
    properties = folder / "kafka" / "kafka.properties"
    lines = properties.read_text().splitlines()
    also = ("listeners=", "advertised.listeners=")
    lines = [f"{line},SASL_SSL://{secure}" if line.startswith(also) else line for line in lines]
    properties.write_text("\n".join(lines))
    running = service.start()
    try:
        yield running.url, secure, certificate
    finally:
        running.stop(force=True)


def login(certificate: Path, password: str) -> dict[str, Any]:
    return {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(certificate),
        "sasl.mechanism": "PLAIN",
        "sasl.username": "ann",
        "sasl.password": password,
        "debug": "security,broker",
    }


def reading(servers: str, topic: str, properties: dict[str, Any]) -> KafkaSource:
    return KafkaSource(
        bootstrap_servers=servers,
        topics=topic,
        deserializer=SimpleStringSchema(),
        stopping_offsets=KafkaOffsetsInitializer.latest(),
        properties=properties,
    )


def writing(servers: str, topic: str, properties: dict[str, Any], **given: Any) -> KafkaSink:
    values = KafkaRecordSerializationSchema.builder().set_topic(topic)
    return KafkaSink(
        bootstrap_servers=servers,
        record_serializer=values.set_value_serialization_schema(SimpleStringSchema()).build(),
        delivery_guarantee=DeliveryGuarantee.EXACTLY_ONCE,
        transactional_id_prefix=topic,
        properties=properties,
        **given,
    )


def test_records_pass_and_a_password_is_shown_nowhere(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(f"{librdkafka.__name__}.ASK_TIMEOUT_S", 2.0)
    caplog.set_level(logging.DEBUG, "headrace")
    shown: list[str] = []
    settings = {"execution.target": "local"}

    def new_job() -> StreamExecutionEnvironment:
        return StreamExecutionEnvironment.get_execution_environment(
            Configuration.from_dict(settings)
        )

    with secured(tmp_path) as (plain, secure, certificate):
        for name in ("given", "copied"):
            topics.create(plain, name)
        topics.produce(plain, "given", [(None, b"a"), (None, b"b")])
        right = login(certificate, PASSWORD)
        env, source, sink = (
            new_job(),
            reading(secure, "given", right),
            writing(secure, "copied", right),
        )
        records = env.from_source(source, WatermarkStrategy.no_watermarks(), "given")
        records.map(str.upper).sink_to(sink).uid("copied")
        shown += [env.get_execution_plan(), repr(source), repr(sink), repr(source.clients)]
        env.execute("copy")
        wait_until_visible(plain, "copied")
        copied = new_job().from_source(
            reading(secure, "copied", right), WatermarkStrategy.no_watermarks(), "copied"
        )
        with copied.execute_and_collect() as results:
            assert list(results) == ["A", "B"]

        wrong = login(certificate, WRONG)
        for given in ({**right, **wrong}, {**right, "ssl.ca.location": ""}):
            with pytest.raises(JobError, match="Kafka refuses the login: ") as refused:
                reading(secure, "given", given).enumerator("").initial(0)
            shown += [str(refused.value), repr(refused.value)]
        assert "Authentication failed" in shown[-4] and "certificate verify failed" in shown[-2]
        env = new_job()
        refused_sink = writing(secure, "copied", wrong)
        env.from_collection(["c"]).sink_to(refused_sink).uid("copied")
        with pytest.raises(
            JobError, match=r"refuses the login: .*Authentication failed"
        ) as refused:
            env.execute("refused")
        shown += [str(refused.value), repr(refused.value)]
    assert "SASL" in caplog.text  # the client's own words are there
    shown += [caplog.text, *capfd.readouterr()]
    for secret in (PASSWORD, WRONG):
        assert not [text for text in shown if secret in text]
