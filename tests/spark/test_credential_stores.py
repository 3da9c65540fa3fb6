"""Secrets of S3 and Azure that Hadoop's credential stores have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext

from headrace.common._storage.cloud import s3_settings
from headrace.errors import ConfigurationError
from headrace.runners.spark.startup.session import get_session
from headrace.runners.spark.startup.storage import storage_access

pytestmark = pytest.mark.spark

STORE = "security.credential.provider.path"
ACCOUNT = "fs.azure.account.key.account.dfs.core.windows.net"


@pytest.fixture
def configured() -> Iterator[Callable[[Mapping[str, str]], Mapping[str, str]]]:
    """Returns what reaches workers if the session has some settings of Hadoop."""
    spark, changed = get_session({}, None), list[str]()

    def access(settings: Mapping[str, str]) -> Mapping[str, str]:
        for key, value in settings.items():
            changed.append(key)
            spark.conf.set(key, value)
        return storage_access(spark).settings

    yield access
    for key in changed:
        spark.conf.unset(key)


def store(path: Path, secrets: Mapping[str, str]) -> str:
    """Make a credential store, and return its URL."""
    jvm: Any = get_session({}, None)._jvm
    gateway: Any = SparkContext._gateway
    url = f"localjceks://file{path}"
    configuration = jvm.org.apache.hadoop.conf.Configuration()
    configuration.set(f"hadoop.{STORE}", url)
    factory = jvm.org.apache.hadoop.security.alias.CredentialProviderFactory
    (made,) = factory.getProviders(configuration)
    for name, secret in secrets.items():
        characters = gateway.new_array(jvm.char, len(secret))
        for at, each in enumerate(secret):
            characters[at] = each
        made.createCredentialEntry(name, characters)
    made.flush()
    return url


def key_of(settings: Mapping[str, str], bucket: str) -> str:
    return str(s3_settings(bucket, settings)[0]["access_key_id"])


def test_a_store_for_all_has_secrets_of_s3_and_azure(tmp_path: Path, configured: Any) -> None:
    secrets = {"fs.s3a.access.key": "of all", ACCOUNT: "azure", "ssl.password": "of another"}
    url = store(tmp_path / "all.jceks", secrets)
    found = configured({f"hadoop.{STORE}": url, "fs.s3a.access.key": "plain"})
    assert key_of(found, "b") == "of all"
    assert found[ACCOUNT] == "azure" and "ssl.password" not in found


def test_a_store_of_s3a_and_one_of_a_bucket_count_first(tmp_path: Path, configured: Any) -> None:
    key = "fs.s3a.access.key"
    found = configured(
        {
            f"hadoop.{STORE}": store(tmp_path / "all.jceks", {key: "of all"}),
            f"fs.s3a.{STORE}": store(tmp_path / "s3a.jceks", {key: "of s3a"}),
            f"fs.s3a.bucket.own.{STORE}": store(tmp_path / "own.jceks", {key: "of own"}),
        }
    )
    assert key_of(found, "b") == "of s3a"
    assert key_of(found, "own") == "of own"


def test_a_store_that_cannot_be_read_is_named(tmp_path: Path, configured: Any) -> None:
    damaged = tmp_path / "damaged.jceks"
    damaged.write_bytes(b"no key store")
    url = f"localjceks://file{damaged}"
    with pytest.raises(ConfigurationError, match="cannot be read") as caught:
        configured({f"fs.s3a.{STORE}": url})
    assert caught.value.where[f"fs.s3a.{STORE}"] == url
    assert "An error occurred while calling" not in caught.value.where["reason"]
