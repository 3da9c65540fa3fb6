"""What Spark's Hadoop configuration says of storage, for Python processes that have no JVM."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import SparkSession

from headrace.common._storage.locations import StorageAccess, use_access
from headrace.errors import ConfigurationError

_PREFIXES = ("fs.", "dfs.", "hadoop.security.")
_DEFAULTS = ("core-default.xml", "hdfs-default.xml")
_CREDENTIAL_STORE = "hadoop.security.credential.provider.path"
_SECRETS = ("fs.s3a.access.key", "fs.s3a.secret.key", "fs.s3a.session.token")
_TOKEN_KIND = "HDFS_DELEGATION_TOKEN"


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
    user = jvm.org.apache.hadoop.security.UserGroupInformation.getCurrentUser()
    tokens = {
        token.getService().toString(): token.encodeToUrlString()
        for token in user.getCredentials().getAllTokens().toArray()
        if token.getKind().toString() == _TOKEN_KIND
    }
    return StorageAccess(settings, user.getShortUserName(), tokens)


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
