"""What Spark's Hadoop configuration says of storage, for Python processes that have no JVM."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from headrace.common._storage.locations import StorageAccess, use_access
from headrace.errors import ConfigurationError

_PREFIXES = ("fs.", "dfs.", "hadoop.security.")
_DEFAULTS = ("core-default.xml", "hdfs-default.xml")
_CREDENTIAL_STORE = "hadoop.security.credential.provider.path"
_SECRETS = ("fs.s3a.access.key", "fs.s3a.secret.key", "fs.s3a.session.token")
_TOKEN_KIND = "HDFS_DELEGATION_TOKEN"
_LOOK_SECONDS = 10.0


def use_storage(spark: SparkSession) -> StorageAccess:
    """Use storage in this process as a session does, and return how workers reach it."""
    access = storage_access(spark)
    use_access(access, lambda path: _remove(spark, path))
    return access


def _remove(spark: SparkSession, path: str) -> None:
    jvm: Any = spark._jvm
    folder = jvm.org.apache.hadoop.fs.Path(path)
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    folder.getFileSystem(configuration).delete(folder, True)


def storage_access(spark: SparkSession) -> StorageAccess:
    """Return how a session's Hadoop configuration reaches storage.

    It has the settings of Hadoop's files (``core-site.xml``, ...), of Spark (``spark.hadoop.*``)
    and of credential stores, and the delegation tokens of the driver's user.
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
    # The text has no secrets: Hadoop masks the values of keys that look like one.
    for key in settings:
        if settings[key] == "<redacted>":
            settings[key] = configuration.get(key)
    if settings.get(_CREDENTIAL_STORE) or settings.get(f"fs.s3a.{_CREDENTIAL_STORE}"):
        for key in _SECRETS:
            found = _secret(configuration, key)
            if found is not None:
                settings[key] = found
    user = _user(spark)
    return StorageAccess(settings, user.getShortUserName(), _tokens(user))


class TokenWatch:
    """Watches whether Spark has obtained other delegation tokens than those of an access.

    With a keytab or a ticket cache it does, when three quarters of their time are over (4.3.0). The
    executors' JVMs get them; Python workers have those with which their query was started.
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
        """Return whether there are other tokens; False between two looks."""
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


def _secret(configuration: Any, key: str) -> str | None:
    """Return a setting that may lie in a credential store."""
    try:
        found = configuration.getPassword(key)
    except Exception as error:  # of Java
        raise ConfigurationError(
            f"Hadoop's credential store cannot be read for {key}",
            where={"reason": str(error).partition("\n")[0]},
        ) from error
    return None if found is None else "".join(found)
