"""What a Kafka source is built from: PyFlink's methods, keywords, properties and secrets."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from headrace.common.serialization import SimpleStringSchema
from headrace.datastream.connectors._kafka.client.librdkafka import LibrdkafkaClients
from headrace.datastream.connectors._kafka.client.properties import Properties
from headrace.datastream.connectors._kafka.sink.producers import LibrdkafkaProducers
from headrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from headrace.errors import ConfigurationError, PlanError
from tests.connectors.fake_kafka import FakeClients

JAAS = (
    "org.apache.kafka.common.security.scram.ScramLoginModule required "
    'username="ann" password="s3cr3t";'
)


def builder() -> KafkaSourceBuilder:
    return (
        KafkaSource.builder()
        .set_bootstrap_servers("fake:9092")
        .set_value_only_deserializer(SimpleStringSchema())
        .set_clients(FakeClients("fake"))
    )


def test_the_builder_gives_what_the_keywords_give() -> None:
    built = (
        builder()
        .set_topics("a", "b", "a")
        .set_group_id("g")
        .set_client_id_prefix("me")
        .set_starting_offsets(KafkaOffsetsInitializer.latest())
        .set_bounded(KafkaOffsetsInitializer.timestamp(7))
        .set_property("fetch.min.bytes", "2")
        .on_missing_offsets("earliest")
        .build()
    )
    assert built == KafkaSource(
        bootstrap_servers="fake:9092",
        topics=["a", "b"],
        deserializer=KafkaRecordDeserializationSchema.value_only(SimpleStringSchema()),
        group_id="g",
        client_id_prefix="me",
        starting_offsets=KafkaOffsetsInitializer.latest(),
        stopping_offsets=KafkaOffsetsInitializer.timestamp(7),
        properties={"fetch.min.bytes": "2"},
        on_missing_offsets="earliest",
        clients=FakeClients("fake"),
    )
    assert built.bounded and built.locator == "a, b"
    assert pickle.loads(pickle.dumps(built)) == built


def test_unbounded_with_an_end_is_a_stream() -> None:
    built = builder().set_topics("a").set_unbounded(KafkaOffsetsInitializer.latest()).build()
    assert not built.bounded and built.stopping_offsets is not None
    assert not builder().set_topics("a").build().bounded


def test_addresses_and_groups_may_be_properties() -> None:
    built = (
        KafkaSource.builder()
        .set_topic_pattern("a.*")
        .set_value_only_deserializer(SimpleStringSchema())
        .set_properties({"bootstrap.servers": "b:1", "group.id": "g"})
        .build()
    )
    assert (built.bootstrap_servers, built.group_id) == ("b:1", "g")
    assert built.locator == "topics that match 'a.*'"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bootstrap_servers": ""}, "address of a broker"),
        ({"topics": ()}, "topics, or topics that match"),
        ({"topics": [("a", "b")]}, "is a str that is not empty"),
        ({"topics": ""}, "is a str that is not empty"),
        ({"properties": {"isolation.level": "dirty"}}, "isolation.level is one of"),
        ({"topic_pattern": "x"}, "topics, or topics that match"),
        ({"deserializer": None}, "needs a deserialization schema"),
        ({"deserializer": str}, "needs a deserialization schema"),
        ({"starting_offsets": KafkaOffsetsInitializer.committed_offsets()}, "no group is set"),
        ({"bounded": True}, "where to stop"),
        ({"on_changed_topic": "latst"}, "is no policy"),
        ({"topics": (), "topic_pattern": "("}, "no regular expression"),
    ],
)
def test_what_cannot_work_is_reported_when_it_is_built(given: dict[str, Any], message: str) -> None:
    whole: dict[str, Any] = {
        "bootstrap_servers": "fake:9092",
        "topics": "a",
        "deserializer": SimpleStringSchema(),
        "clients": FakeClients("fake"),
    }
    with pytest.raises((PlanError, ConfigurationError), match=message):
        KafkaSource(**{**whole, **given})


def test_topics_and_partitions_exclude_each_other() -> None:
    with pytest.raises(PlanError, match="partitions cannot be set: topics are set already"):
        builder().set_topics("a").set_partitions({KafkaTopicPartition("a", 0)})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: KafkaOffsetsInitializer.timestamp("2026-01-01"), "whole number of milliseconds"),  # type: ignore[arg-type]
        (lambda: KafkaOffsetsInitializer.timestamp(1.5), "whole number of milliseconds"),  # type: ignore[arg-type]
        (lambda: KafkaOffsetsInitializer.offsets({("a", 0): 5.5}), "is no whole number"),  # type: ignore[dict-item]
        (lambda: KafkaOffsetsInitializer.offsets({"a": 5}), "given by partition, not by 'a'"),  # type: ignore[dict-item]
    ],
)
def test_offsets_that_are_none(wrong: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        wrong()


def test_offsets_below_zero_are_refused() -> None:
    with pytest.raises(PlanError, match="negative"):
        KafkaOffsetsInitializer.offsets({KafkaTopicPartition("a", 0): -1})
    with pytest.raises(PlanError, match="negative"):
        KafkaOffsetsInitializer.timestamp(-1)


def test_javas_properties_become_librdkafkas() -> None:
    given = Properties.of(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": JAAS,
            "ssl.truststore.location": "/ca.pem",
            "key.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
            "max.poll.records": 500,
            "partition.discovery.interval.ms": "1000",
            "enable.auto.commit": True,
            "fetch.min.bytes": 2,
        }
    )
    login = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "ann",
        "sasl.password": "s3cr3t",
        "ssl.ca.location": "/ca.pem",
    }
    assert given.for_consumer() == {**login, "fetch.min.bytes": "2"}
    assert given.for_admin() == login
    assert "s3cr3t" not in repr(given)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("sasl.jaas.config", "com.sun.Krb5LoginModule required;", "no username and password"),
        ("ssl.truststore.location", "/trust.jks", "Java key store"),
    ],
)
def test_what_only_java_reads_is_reported(key: str, value: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        builder().set_topics("a").set_property(key, value).build()


def test_a_secret_may_stay_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "password").write_text("s3cr3t\n")
    monkeypatch.setenv("KAFKA_USER", "ann")
    given = {
        "sasl.username": "${env:KAFKA_USER}",
        "sasl.password": f"${{file:{tmp_path}/password}}",
    }
    made = builder().set_topics("a").set_properties(given).build()
    assert b"s3cr3t" not in pickle.dumps(made)
    assert isinstance(made.properties, Properties)
    found = made.properties.for_admin()
    assert found == {"sasl.username": "ann", "sasl.password": "s3cr3t"}
    monkeypatch.delenv("KAFKA_USER")
    with pytest.raises(ConfigurationError, match=r"sasl\.username refers to a value") as caught:
        made.properties.for_admin()
    assert caught.value.where == {"environment variable": "KAFKA_USER"}


def test_addresses_may_stay_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"bootstrap.servers": "BROKERS", "client.id": "CLIENT", "group.id": "GROUP"}
    given = {key: f"${{env:{name}}}" for key, name in names.items()}
    servers, group = given["bootstrap.servers"], given["group.id"]
    real = LibrdkafkaClients(servers, group, None, Properties.of(given))
    writing = LibrdkafkaProducers(servers, Properties.of(given))
    for name in names.values():
        monkeypatch.setenv(name, name.lower())
    wanted = {"bootstrap.servers": "brokers", "client.id": "client"}
    for known in (real.admin(), real.consumer(), writing._client_settings()):
        assert wanted.items() <= known.items()
    assert real.consumer()["group.id"] == "group"


def test_secrets_are_shown_nowhere() -> None:
    secret = {
        "sasl.password": "s3cr3t",
        "ssl.key.password": "s3cr3t",
        "sasl.oauthbearer.client.secret": "s3cr3t",
        "sasl.jaas.config": JAAS,
        "ssl.key.pem": "s3cr3t",
        "ssl.keystore.key": "s3cr3t",
        "sasl.oauthbearer.assertion.private.key.passphrase": "s3cr3t",
    }
    building = builder().set_topics("a").set_properties(secret)
    real = LibrdkafkaClients("b:1", None, None, Properties.of(secret))
    assert "s3cr3t" not in repr([building, building.build(), real])
    assert "sasl.password" in repr(building)


def test_the_consumer_reads_committed_records_and_joins_no_group() -> None:
    clients = LibrdkafkaClients("b:1", "g", "me", Properties())
    made = clients.consumer()
    assert made["isolation.level"] == "read_committed" and made["auto.offset.reset"] == "error"
    assert (made["group.id"], made["client.id"], made["enable.auto.commit"]) == ("g", "me", "false")
    uncommitted = Properties.of({"isolation.level": "read_uncommitted"})
    assert LibrdkafkaClients("b:1", None, None, uncommitted).isolation == "read_uncommitted"
