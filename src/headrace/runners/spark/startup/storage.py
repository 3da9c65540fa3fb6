"""Reads the storage settings of Spark's Hadoop configuration, for processes without a JVM."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from headrace.common._storage.locations import StorageAccess, use_access
from headrace.errors import ConfigurationError
from headrace.runners.spark.checkpoint.damage import causes_of, java_reason

_PREFIXES = ("fs.", "dfs.", "hadoop.security.")
_DEFAULTS = ("core-default.xml", "hdfs-default.xml")
_CREDENTIAL_STORE = "hadoop.security.credential.provider.path"
_OF_S3A = "fs.s3a.security.credential.provider.path"
_OF_BUCKET = re.compile(r"fs\.s3a\.bucket\.(.+)\.security\.credential\.provider\.path")
_WITH_SECRETS = ("fs.s3a.", "fs.azure.")
_TOKEN_KIND = "HDFS_DELEGATION_TOKEN"
_LOOK_SECONDS = 10.0


def use_storage(spark: SparkSession) -> StorageAccess:
    """Let this process use the storage settings of a session; return them, for the workers."""
    access = storage_access(spark)
    use_access(access, lambda path: _remove(spark, path))
    return access


def _remove(spark: SparkSession, path: str) -> None:
    jvm: Any = spark._jvm
    folder = jvm.org.apache.hadoop.fs.Path(path)
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    folder.getFileSystem(configuration).delete(folder, True)


def storage_access(spark: SparkSession) -> StorageAccess:
    """Return the storage settings of a session.

    They are the settings in Hadoop's files (``core-site.xml``, ...), in Spark (``spark.hadoop.*``)
    and in credential stores, and the delegation tokens of the driver's user.
    """
    jvm: Any = spark._jvm
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    text = jvm.java.io.StringWriter()
    jvm.org.apache.hadoop.conf.Configuration.dumpConfiguration(configuration, text)
    settings = {
        each["key"]: each["value"]
        for each in json.loads(text.toString())["properties"]
        if each["key"].startswith(_PREFIXES)
        and each["value"] is not None
        and each.get("resource") not in _DEFAULTS
    }
    # The dump has no secrets: Hadoop masks the values of keys that look like secrets.
    for key in settings:
        if settings[key] == "<redacted>":
            settings[key] = configuration.get(key)
    settings |= _stored_secrets(jvm, configuration, settings)
    user = _user(spark)
    return StorageAccess(settings, user.getShortUserName(), _tokens(user))


class TokenWatch:
    """Finds out whether Spark has fetched new delegation tokens since ``access`` was read.

    With a keytab or a ticket cache, Spark fetches new tokens when three quarters of the lifetime of
    the old ones are over (4.3.0). The executors' JVMs get the new tokens, but Python workers keep
    the tokens with which their query was started.
    """

    def __init__(
        self,
        spark: SparkSession,
        access: StorageAccess,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spark, self._tokens, self._seconds = spark, access.tokens, seconds
        self._next = seconds() + _LOOK_SECONDS

    def has_new_tokens(self) -> bool:
        """Return whether there are new tokens. Spark is asked every ten seconds; else False."""
        if not self._tokens or self._seconds() < self._next:
            return False
        self._next = self._seconds() + _LOOK_SECONDS
        return _tokens(_user(self._spark)) != self._tokens


def _user(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm
    return jvm.org.apache.hadoop.security.UserGroupInformation.getCurrentUser()


def _tokens(user: Any) -> dict[str, str]:
    """Return the delegation tokens of a user by service, encoded for URLs."""
    return {
        token.getService().toString(): token.encodeToUrlString()
        for token in user.getCredentials().getAllTokens().toArray()
        if token.getKind().toString() == _TOKEN_KIND
    }


def _stored_secrets(jvm: Any, configuration: Any, settings: Mapping[str, str]) -> Mapping[str, str]:
    """Return the settings of S3 and Azure that are in credential stores: these count first.

    What a bucket's own store has counts for this bucket, before what the stores of all have.
    """
    secrets: dict[str, str] = {}
    for key in (_CREDENTIAL_STORE, _OF_S3A):
        if settings.get(key):
            secrets |= _read_store(jvm, configuration, key, settings[key])
    for key, path in settings.items():
        bucket = _OF_BUCKET.fullmatch(key)
        if bucket is not None:
            of_bucket = f"fs.s3a.bucket.{bucket[1]}."
            for name, secret in _read_store(jvm, configuration, key, path).items():
                own = of_bucket + name.removeprefix("fs.s3a.")
                secrets[name if name.startswith(of_bucket) else own] = secret
    return secrets


def _read_store(jvm: Any, configuration: Any, key: str, path: str) -> dict[str, str]:
    """Return what a list of credential stores has; of several the first counts.

    Raises:
        ConfigurationError: one of them cannot be read; ``key``: the setting that names them.
    """
    found: dict[str, str] = {}
    try:
        of_path = jvm.org.apache.hadoop.conf.Configuration(configuration)
        of_path.set(_CREDENTIAL_STORE, path)
        factory = jvm.org.apache.hadoop.security.alias.CredentialProviderFactory
        for store in factory.getProviders(of_path):
            for name in store.getAliases():
                if name.startswith(_WITH_SECRETS):
                    secret = store.getCredentialEntry(name).getCredential()
                    found.setdefault(name, "".join(secret))
    except Exception as error:
        causes = causes_of(error)
        if not causes:
            raise
        raise ConfigurationError(
            "Hadoop's credential store cannot be read",
            where={key: path, "reason": java_reason(causes)},
        ) from error
    return found
