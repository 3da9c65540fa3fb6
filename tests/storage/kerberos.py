"""An HDFS with Kerberos for tests: a KDC, a name node and a data node in one JVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from py4j.java_gateway import JavaGateway

from tests.hadoop import hadoop

_REALM, _USER = "EXAMPLE.COM", "ann"
_SERVER, _WEB = f"hdfs/localhost@{_REALM}", f"HTTP/localhost@{_REALM}"


@dataclass(frozen=True)
class SecureHdfs:
    """A running HDFS. ``base``: the URL of a folder that belongs to the user.

    ``settings``: the folder of ``core-site.xml``, for ``HADOOP_CONF_DIR``.
    """

    gateway: JavaGateway
    files: Any
    base: str
    settings: Path
    keytab: Path
    krb5_conf: Path

    def _path(self, text: str) -> Any:
        return self.gateway.jvm.org.apache.hadoop.fs.Path(text)

    def upload(self, local: Path, url: str) -> None:
        """Copy a local file to the HDFS."""
        self.files.copyFromLocalFile(self._path(str(local)), self._path(url))

    def download(self, url: str, local: Path) -> None:
        """Copy a folder of the HDFS to a local one."""
        self.files.copyToLocalFile(False, self._path(url), self._path(str(local)), True)

    @property
    def submit_arguments(self) -> list[str]:
        """The arguments of ``spark-submit`` for a user with a keytab."""
        java = f"-Djava.security.krb5.conf={self.krb5_conf}"
        return [
            *("--conf", f"spark.kerberos.keytab={self.keytab}"),
            *("--conf", f"spark.kerberos.principal={_USER}@{_REALM}"),
            *("--conf", f"spark.driver.extraJavaOptions={java}"),
            *("--conf", f"spark.executor.extraJavaOptions={java}"),
        ]


@contextmanager
def secure_hdfs(folder: Path, token_seconds: int) -> Iterator[SecureHdfs]:
    """Run an HDFS whose delegation tokens are valid for so long, and cannot be renewed longer."""
    with hadoop(folder, "hdfs", "yarn", "kerberos") as gateway:
        jvm = gateway.jvm
        classes = jvm.org.apache.hadoop
        kdc = classes.minikdc.MiniKdc(
            classes.minikdc.MiniKdc.createConf(), jvm.java.io.File(str(folder))
        )
        kdc.start()
        keytab = folder / "keytab"
        principals = gateway.new_array(jvm.String, 3)
        for index, name in enumerate((_SERVER, _WEB, _USER)):
            principals[index] = name.partition("@")[0]
        kdc.createPrincipal(jvm.java.io.File(str(keytab)), principals)
        public = _settings(token_seconds)
        configuration = classes.hdfs.HdfsConfiguration()
        for key, value in {**public, **_keytabs(keytab)}.items():
            configuration.set(key, value)
        user = classes.security.UserGroupInformation
        user.setConfiguration(configuration)
        user.loginUserFromKeytab(_SERVER, str(keytab))
        data = jvm.java.io.File(str(folder / "data"))
        builder = getattr(classes.hdfs.MiniDFSCluster, "Builder")(configuration, data)  # noqa: B009
        cluster = builder.numDataNodes(1).build()
        cluster.waitActive()
        files = cluster.getFileSystem()
        tests = classes.fs.Path("/tests")
        files.mkdirs(tests)
        files.setOwner(tests, _USER, _USER)
        url = files.getUri().toString()
        web = cluster.getConfiguration(0).get("dfs.namenode.http-address")
        settings = folder / "hadoop"
        settings.mkdir()
        found = {**public, "fs.defaultFS": url, "dfs.namenode.http-address": web}
        (settings / "core-site.xml").write_text(_xml(found))
        krb5_conf = Path(kdc.getKrb5conf().toString())
        yield SecureHdfs(gateway, files, f"{url}/tests", settings, keytab, krb5_conf)


def _settings(token_seconds: int) -> dict[str, str]:
    """The settings that clients may know, too."""
    milliseconds = str(1000 * token_seconds)
    return {
        "hadoop.security.authentication": "kerberos",
        "hadoop.http.authentication.type": "kerberos",
        "dfs.namenode.kerberos.principal": _SERVER,
        "dfs.datanode.kerberos.principal": _SERVER,
        "dfs.web.authentication.kerberos.principal": _WEB,
        "dfs.block.access.token.enable": "true",
        "dfs.data.transfer.protection": "authentication",
        # Without certificates, which are not what is tested.
        "ignore.secure.ports.for.testing": "true",
        "dfs.namenode.delegation.token.renew-interval": milliseconds,
        "dfs.namenode.delegation.token.max-lifetime": milliseconds,
        "dfs.namenode.delegation.key.update-interval": milliseconds,
    }


def _keytabs(keytab: Path) -> Mapping[str, str]:
    return {
        "dfs.namenode.keytab.file": str(keytab),
        "dfs.datanode.keytab.file": str(keytab),
        "dfs.web.authentication.kerberos.keytab": str(keytab),
        "dfs.namenode.kerberos.internal.spnego.principal": _WEB,
        "hadoop.http.authentication.kerberos.principal": _WEB,
        "hadoop.http.authentication.kerberos.keytab": str(keytab),
    }


def _xml(settings: Mapping[str, str]) -> str:
    properties = "".join(
        f"<property><name>{key}</name><value>{escape(value)}</value></property>\n"
        for key, value in settings.items()
    )
    return f"<configuration>\n{properties}</configuration>\n"
