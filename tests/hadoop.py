"""Servers of Hadoop for tests: classes of its test clusters in one JVM, driven over py4j."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from headrace.dev.artifacts import install_server, read_pinned_files
from headrace.errors import JobError
from headrace.runners.spark.startup.java import find_java
from tests.storage.servers import LISTED


@contextmanager
def hadoop(folder: Path, *groups: str) -> Iterator[JavaGateway]:
    """A JVM with the jars of ``groups`` (``pinned.txt``) and Spark's; it works in ``folder``.

    Its variables are those of a plain shell: what it starts inherits nothing of this environment.
    """
    try:
        folders = [install_server(name, parts=read_pinned_files(name, LISTED)) for name in groups]
        java = find_java().home
    except JobError as error:
        pytest.skip(f"missing: {' and '.join(groups)}: {error.message}; {error.hint}")
    spark = Path(str(find_spec("pyspark").origin)).parent / "jars"  # type: ignore[union-attr]
    variables = {"JAVA_HOME": str(java), "PATH": os.defpath}
    with (folder / "hadoop.log").open("wb") as log, mock.patch.dict(os.environ, variables):
        port, process = launch_gateway(
            jarpath=str(next(spark.glob("py4j-*.jar"))),
            classpath=":".join(f"{jars}/*" for jars in [*folders, spark]),
            javaopts=["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
            java_path=str(java / "bin" / "java"),
            redirect_stdout=log,
            redirect_stderr=log,
            die_on_exit=True,
            return_proc=True,
            cwd=str(folder),
        )
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        try:
            yield gateway
        except Py4JJavaError as error:
            raise RuntimeError(str(error)) from None  # its text is lost with the gateway
        finally:
            gateway.close()
            process.kill()
            process.wait()
