"""What needs a package that is not installed says so when it is made, and names the extra."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.common._extras import _EXTRAS, confluent_kafka, fastavro, optional
from headrace.common.serialization import SimpleStringSchema
from headrace.datastream.connectors.kafka import (
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from headrace.datastream.connectors.postgres import PostgresLookup, PostgresSink
from headrace.datastream.connectors.redis import RedisCommand, RedisLookup, RedisSink
from headrace.datastream.formats._registry.client import RegistryClient
from headrace.datastream.formats.avro import AvroSchema
from headrace.datastream.formats.registry import SchemaRegistry
from headrace.dev import topics
from headrace.errors import MissingExtraError

PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"
POSTGRES, REDIS = "postgresql://db/shop", "redis://cache"


def kafka_sink() -> KafkaSink:
    values = KafkaRecordSerializationSchema.builder().set_topic("t")
    return (
        KafkaSink.builder()
        .set_bootstrap_servers("b:1")
        .set_record_serializer(values.set_value_serialization_schema(SimpleStringSchema()).build())
        .build()
    )


def kafka_source() -> KafkaSource:
    return KafkaSource(bootstrap_servers="b:1", topics="t", deserializer=SimpleStringSchema())


@pytest.mark.parametrize(
    ("package", "extra", "make"),
    [
        ("psycopg", "postgres", lambda: PostgresSink(POSTGRES, table="t", columns=["a"])),
        ("psycopg", "postgres", lambda: PostgresLookup(POSTGRES, "SELECT 1")),
        ("redis", "redis", lambda: RedisSink(REDIS, lambda value: RedisCommand.delete(value))),
        ("redis", "redis", lambda: RedisLookup(REDIS)),
        ("confluent_kafka", "kafka", kafka_source),
        ("confluent_kafka", "kafka", kafka_sink),
        ("confluent_kafka", "kafka", lambda: topics.list_topics("b:1")),
        ("confluent_kafka", "registry", lambda: RegistryClient(SchemaRegistry("http://r"))),
        # A schema of its own: what was parsed once is kept.
        (
            "fastavro",
            "avro",
            lambda: AvroSchema('{"type": "fixed", "name": "Unparsed", "size": 3}'),
        ),
    ],
)
def test_the_package_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, package: str, extra: str, make: Callable[[], object]
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == package] + [package]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=f"needs the package '{package}'") as raised:
        make()
    assert f'pip install "headrace[{extra}]"' in str(raised.value)


def test_what_a_package_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "psycopg.py").write_text("raise ImportError('no pq wrapper:\\n- no libpq')")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.split(".")[0] == "psycopg"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtraError, match="PostgreSQL needs the package 'psycopg'") as raised:
        optional("psycopg.types.json")
    assert raised.value.where == {"reason": "no pq wrapper:"}


def test_modules_of_what_is_installed() -> None:
    assert fastavro("read").__name__ == "fastavro.read"
    assert confluent_kafka().admin.__name__ == "confluent_kafka.admin"


def test_each_extra_brings_its_package() -> None:
    extras = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]
    for module, (extra, _) in _EXTRAS.items():
        package = module.partition(".")[0].replace("_", "-")
        assert any(requirement.startswith(package) for requirement in extras[extra])


def test_names_can_be_imported_where_nothing_optional_is_installed() -> None:
    code = (
        "import sys\n"
        "for name in ('fastavro', 'orjson', 'confluent_kafka'): sys.modules[name] = None\n"
        "from headrace.common import AvroRowDeserializationSchema\n"
        "from headrace.datastream.formats import avro, protobuf\n"
        "from headrace.datastream.formats import _json_text\n"
        "assert _json_text.parse_json(b'{\"a\": 1}') == {'a': 1}\n"
        "assert _json_text.write_json({'a': 1}) == b'{\"a\":1}'\n"
        "try: avro.AvroSchema('int')\n"
        "except ImportError as error: print(error.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith('pip install "headrace[avro]"')
