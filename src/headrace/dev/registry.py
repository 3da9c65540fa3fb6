"""Apicurio: a schema registry with Confluent's API; its schemas are in memory."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path

from headrace.dev.artifacts import install_server
from headrace.dev.ports import HOST, choose_port
from headrace.dev.service import Service
from headrace.runners.spark.startup.java import find_java

USUAL_PORT = 8081
API = "/apis/ccompat/v7"


def registry(folder: Path, port: int | None = None) -> Service:
    """Return a registry. Its schemas are lost when it stops.

    Raises:
        JobError: the registry cannot be downloaded, or the port is in use.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = install_server("registry")
    own = choose_port(port, USUAL_PORT)
    (runner,) = files.glob("*-runner.jar")
    url = f"http://{HOST}:{own}{API}"
    command = [
        str(find_java().home / "bin" / "java"),
        *("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        *(f"-Dquarkus.http.host={HOST}", f"-Dquarkus.http.port={own}"),
        *("-jar", str(runner)),
    ]
    return Service("registry", folder, command, url, lambda: is_ready(url))


def is_ready(url: str) -> bool:
    """Return whether it lists its subjects."""
    try:
        with urllib.request.urlopen(f"{url}/subjects", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
