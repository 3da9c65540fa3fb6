from __future__ import annotations

import json
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest

from tests.servers import Server, serving

T = TypeVar("T")


@dataclass
class Prometheus:
    """A real Prometheus."""

    server: Server

    def scrape(self, port: int) -> None:
        """Have it scrape a port of this machine each second, and no other."""
        targets = [{"targets": [f"127.0.0.1:{port}"]}]
        (self.server.service.folder / "targets.json").write_text(json.dumps(targets))

    def query(self, text: str) -> list[dict[str, Any]]:
        """The answer to a query: series with labels (``metric``) and ``value``."""
        found: list[dict[str, Any]] = self._get("query", query=text)["result"]
        return found

    def label_values(self, label: str, metric: str) -> list[str]:
        """The values of a label in the series of a metric, as Grafana asks for a variable."""
        found: list[str] = self._get(f"label/{label}/values", **{"match[]": metric})
        return found

    def targets(self) -> list[dict[str, Any]]:
        """What it scrapes, with the last error of each."""
        found: list[dict[str, Any]] = self._get("targets")["activeTargets"]
        return found

    def _get(self, path: str, **arguments: str) -> Any:
        url = f"{self.server.url}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.loads(answer.read())["data"]


def wait_for(found: Callable[[], T], seconds: float = 30, what: str = "it") -> T:
    """What a function returns, as soon as it is true."""
    until = time.monotonic() + seconds
    while not (result := found()):
        assert time.monotonic() < until, f"{what} did not come in {seconds} s"
        time.sleep(0.1)
    return result


@pytest.fixture(scope="module")
def prometheus() -> Iterator[Prometheus]:
    with serving("prometheus") as server:
        yield Prometheus(server)


@pytest.fixture
def pushgateway() -> Iterator[str]:
    with serving("pushgateway") as server:
        yield server.url


@dataclass
class Influxdb:
    """A real InfluxDB, with a database ``flink``."""

    url: str

    def query(self, text: str) -> list[dict[str, Any]]:
        """The rows of the answer: columns and tags by name."""
        arguments = urllib.parse.urlencode({"db": "flink", "q": text, "epoch": "ms"})
        method = "GET" if text.startswith(("SELECT", "SHOW")) else "POST"
        request = urllib.request.Request(f"{self.url}/query?{arguments}", method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            (result,) = json.loads(answer.read())["results"]
        return [
            {**series.get("tags", {}), **dict(zip(series["columns"], row, strict=True))}
            for series in result.get("series", [])
            for row in series["values"]
        ]


@pytest.fixture(scope="module")
def influxdb() -> Iterator[Influxdb]:
    with serving("influxdb") as server:
        found = Influxdb(server.url)
        found.query("CREATE DATABASE flink")
        yield found
