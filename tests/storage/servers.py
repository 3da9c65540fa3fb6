"""An HDFS and an S3 for tests: real servers on loopback, each with a folder of its own."""

from __future__ import annotations

import base64
import email.utils
import hmac
import json
import shutil
import socket
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from headrace.common._storage.locations import StorageAccess
from headrace.dev.artifacts import install_server, read_pinned_files
from headrace.dev.ports import HOST, choose_port, free_ports
from headrace.dev.service import Service
from headrace.errors import JobError
from headrace.runners.spark.startup.java import find_java
from tests.certificates import STORE_PASSWORD, make_certificate
from tests.servers import Server

LISTED = Path(__file__).with_name("pinned.txt")
_BUCKET, _ACCESS, _SECRET = "bucket1", "key", "secret"
_CONTAINER, _ACCOUNT = "container1", "devstoreaccount1"
# Azurite's own account, which its documentation gives for everybody.
_ACCOUNT_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)


def in_proof(one: str, other: str) -> pytest.MarkDecorator:
    """Marks a test that runs on one storage, and on the other only in ``make proof``."""
    storages = [one, pytest.param(other, marks=pytest.mark.proof)]
    return pytest.mark.parametrize("storage", storages, indirect=True)


@dataclass(frozen=True)
class Storage:
    """A storage that runs. ``base``: the URL under which tests make their folders."""

    base: str
    hadoop: Mapping[str, str]
    """What Spark's Hadoop configuration must say."""
    spark: Mapping[str, str]
    """Further settings of Spark."""
    server: Server
    certificate: Path | None = None
    """Whom to trust, where it is used over HTTPS."""

    @property
    def access(self) -> StorageAccess:
        """How a process without Spark reaches it."""
        return StorageAccess(self.hadoop, user="tests")

    @property
    def settings(self) -> dict[str, str]:
        """The settings of a job that uses it."""
        named = {f"spark.hadoop.{key}": value for key, value in self.hadoop.items()}
        return {
            f"headrace.spark.conf.{key}": value for key, value in {**named, **self.spark}.items()
        }


@contextmanager
def hdfs(*, https: bool = False) -> Iterator[Storage]:
    """Hadoop's own cluster for tests: a name node and a data node in one JVM.

    ``https``: WebHDFS is there over HTTPS only, with a certificate of its own.
    """
    with _folder() as folder:
        try:
            jars = install_server("hdfs", parts=read_pinned_files("hdfs", LISTED))
            java = find_java().home / "bin" / "java"
        except JobError as error:
            pytest.skip(f"missing: hdfs: {error.message}; {error.hint}")
        rpc, http, secure = free_ports(3)
        public = {"dfs.namenode.http-address": f"{HOST}:{http}"}
        private = {"hdfs.minidfs.basedir": f"{folder}/data", "dfs.permissions.enabled": "false"}
        certificate = None
        if https:
            certificate = _certify(folder)
            public = {
                "dfs.http.policy": "HTTPS_ONLY",
                "dfs.namenode.https-address": f"{HOST}:{secure}",
            }
            private["dfs.datanode.https.address"] = f"{HOST}:0"
        spark = Path(str(find_spec("pyspark").origin)).parent / "jars"  # type: ignore[union-attr]
        command = [
            str(java),
            *("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            *("-cp", f"{folder}:{jars}/*:{spark}/*"),
            "org.apache.hadoop.test.MiniDFSClusterManager",
            *("-format", "-nnport", str(rpc), "-httpport", str(http)),
            *("-writeDetails", str(folder / "details.json")),
            *(part for pair in {**public, **private}.items() for part in ("-D", "=".join(pair))),
        ]
        details = folder / "details.json"
        service = Service(
            "hdfs", folder, command, f"hdfs://{HOST}:{rpc}", lambda: _is_whole(details)
        )
        with _running(service) as server:
            base = f"hdfs://localhost:{rpc}/tests"
            yield Storage(base, public, {}, server, certificate)


def _certify(folder: Path) -> Path:
    """Make a certificate of this machine, and Hadoop's settings of it; return it as PEM."""
    keystore, certificate = make_certificate(folder)
    settings = {
        "keystore.location": str(keystore),
        "keystore.password": STORE_PASSWORD,
        "keystore.keypassword": STORE_PASSWORD,
    }
    properties = "".join(
        f"<property><name>ssl.server.{name}</name><value>{value}</value></property>\n"
        for name, value in settings.items()
    )
    (folder / "ssl-server.xml").write_text(f"<configuration>\n{properties}</configuration>\n")
    return certificate


def _is_whole(details: Path) -> bool:
    """Return whether the cluster has written what it writes once it is ready."""
    return details.exists() and details.read_text().rstrip().endswith("}")


@contextmanager
def s3() -> Iterator[Storage]:
    """SeaweedFS, which has conditional writes as S3 has."""
    weed = shutil.which("weed", path=_scripts()) or shutil.which("weed")
    if weed is None:
        pytest.skip("missing: s3: `make test-servers` brings SeaweedFS")
    try:
        jars = install_server("s3a", parts=read_pinned_files("s3a", LISTED))
    except JobError as error:
        pytest.skip(f"missing: s3: {error.message}; {error.hint}")
    with _folder() as folder:
        ports = free_ports(8)
        identity = {
            "name": "tests",
            "credentials": [{"accessKey": _ACCESS, "secretKey": _SECRET}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
        (folder / "data").mkdir()
        master, master_grpc, volume, volume_grpc, filer, filer_grpc, port, s3_grpc = ports
        command = [
            *(weed, "server", f"-dir={folder}/data", f"-ip={HOST}", f"-ip.bind={HOST}"),
            *(f"-master.port={master}", f"-master.port.grpc={master_grpc}"),
            *(f"-volume.port={volume}", f"-volume.port.grpc={volume_grpc}"),
            *("-filer", f"-filer.port={filer}", f"-filer.port.grpc={filer_grpc}"),
            *("-s3", f"-s3.port={port}", f"-s3.config={folder}/s3.json"),
            *("-s3.port.iceberg=0", "-s3.port.lance=0", f"-s3.port.grpc={s3_grpc}"),
            *("-master.volumeSizeLimitMB=64", "-volume.max=50"),
        ]
        hadoop = {
            "fs.s3a.endpoint": f"http://{HOST}:{port}",
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.access.key": _ACCESS,
            "fs.s3a.secret.key": _SECRET,
            "fs.s3a.connection.expect.continue": "false",
        }
        service = Service(
            "s3", folder, command, f"http://{HOST}:{port}", lambda: _has_bucket(hadoop)
        )
        with _running(service) as server:
            spark = {"spark.driver.extraClassPath": f"{jars}/*"}
            yield Storage(f"s3a://{_BUCKET}/tests", hadoop, spark, server)


@contextmanager
def azure() -> Iterator[Storage]:
    """Azurite, which plays Azure's blob interface; Spark needs another one, which it does not."""
    with _folder() as folder:
        port = choose_port(0, 0)
        url = f"http://{HOST}:{port}/{_ACCOUNT}"
        command = [
            *(str(shutil.which("azurite-blob")), "--silent", "--skipApiVersionCheck"),
            *("--blobHost", HOST, "--blobPort", str(port), "-l", str(folder)),
        ]
        service = Service("azure", folder, command, url, lambda: _has_container(url))
        with _running(service) as server:
            host = f"{_ACCOUNT}.dfs.core.windows.net"
            hadoop = {
                f"fs.azure.account.key.{host}": _ACCOUNT_KEY,
                "fs.azure.headrace.blob.endpoint": url,
            }
            yield Storage(f"abfs://{_CONTAINER}@{host}/tests", hadoop, {}, server)


def _has_container(url: str) -> bool:
    """Make the container; False while the server does not answer."""
    date = email.utils.formatdate(usegmt=True)
    kind = "application/octet-stream"
    headers = {"x-ms-date": date, "x-ms-version": "2021-08-06", "Content-Type": kind}
    signed = "\n".join(
        [
            *("PUT", "", "", "", "", kind, "", "", "", "", "", ""),
            *(f"x-ms-date:{date}", "x-ms-version:2021-08-06"),
            f"/{_ACCOUNT}/{_ACCOUNT}/{_CONTAINER}",
            "restype:container",
        ]
    )
    digest = hmac.new(base64.b64decode(_ACCOUNT_KEY), signed.encode(), "sha256").digest()
    headers["Authorization"] = f"SharedKey {_ACCOUNT}:{base64.b64encode(digest).decode()}"
    request = urllib.request.Request(
        f"{url}/{_CONTAINER}?restype=container", data=b"", headers=headers, method="PUT"
    )
    try:
        with urllib.request.urlopen(request, timeout=2) as answer:
            return bool(answer.status == 201)
    except urllib.error.HTTPError as error:
        return error.code == 409  # it is there
    except OSError:
        return False


def _has_bucket(hadoop: Mapping[str, str]) -> bool:
    """Make the bucket; False while the server does not answer."""
    url = hadoop["fs.s3a.endpoint"]
    with socket.socket() as probe:
        probe.settimeout(1)
        if probe.connect_ex((HOST, int(url.rpartition(":")[2]))):
            return False
    from obstore.store import S3Store

    try:
        store = S3Store(
            _BUCKET,
            config={
                "endpoint": url,
                "access_key_id": _ACCESS,
                "secret_access_key": _SECRET,
                "region": "us-east-1",
            },
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )
        # SeaweedFS makes the bucket of the first object.
        store.put("made", b"1")
    except Exception:
        return False
    return True


def _scripts() -> str:
    import sysconfig

    return sysconfig.get_path("scripts")


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="headrace-server-", ignore_cleanup_errors=True) as path:
        yield Path(path)


@contextmanager
def _running(service: Service) -> Iterator[Server]:
    server = Server(service)
    server.start()
    try:
        yield server
    finally:
        server.kill()
