"""Real servers for tests, made by the code of ``headrace dev``; who asks for one ends it."""

from __future__ import annotations

import json
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from headrace.dev.from_machine import find_program
from headrace.dev.ports import HOST, choose_port
from headrace.dev.servers import MAKERS
from headrace.dev.service import Running, Service
from headrace.errors import JobError
from headrace.runners.spark.startup.java import find_java

ANY_FREE_PORT = 0


@dataclass
class Server:
    """A server that can be killed, and started again where it was."""

    service: Service
    running: Running | None = field(default=None, init=False)

    @property
    def url(self) -> str:
        """The address for clients."""
        return self.service.url

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.running = self.service.start()

    def kill(self) -> None:
        """End it without a chance to tidy up, and wait for that."""
        self._end(force=True)

    def stop(self) -> None:
        """End it in order, and wait for that: a broker that was killed is away for ten seconds."""
        self._end(force=False)

    def _end(self, *, force: bool) -> None:
        if self.running is not None:
            self.running.stop(force=force)
            self.running = None


@contextmanager
def serving(name: str) -> Iterator[Server]:
    """A server with a folder and a port of its own; without one the test is skipped."""
    # Not below pytest's folders: those are closed to the user that PostgreSQL runs as.
    with tempfile.TemporaryDirectory(prefix="headrace-server-", ignore_cleanup_errors=True) as path:
        Path(path).chmod(0o711)
        server = Server(_made(name, Path(path)))
        server.start()
        try:
            yield server
        finally:
            server.kill()


def prometheus(folder: Path, port: int | None = None) -> Service | None:
    """A Prometheus that scrapes each second what ``targets.json`` in its folder names."""
    program = find_program("prometheus")
    if program is None:
        return None
    (folder / "targets.json").write_text("[]")
    settings = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "scrape_configs": [{"job_name": "jobs", "file_sd_configs": [{"files": ["targets.json"]}]}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(settings))  # JSON is YAML
    own = choose_port(port, 9090)
    command = [
        *(str(program), "--config.file", "prometheus.yml", "--storage.tsdb.path", "data"),
        f"--web.listen-address={HOST}:{own}",
    ]
    url = f"http://{HOST}:{own}"
    return Service("prometheus", folder, command, url, _answers(f"{url}/-/ready"))


def pushgateway(folder: Path, port: int | None = None) -> Service | None:
    """A pushgateway that keeps its metrics in memory."""
    program = find_program("prometheus-pushgateway")
    if program is None:
        return None
    own = choose_port(port, 9091)
    url = f"http://{HOST}:{own}"
    command = [str(program), f"--web.listen-address={HOST}:{own}"]
    return Service("pushgateway", folder, command, url, _answers(f"{url}/-/ready"))


def influxdb(folder: Path, port: int | None = None) -> Service | None:
    """An InfluxDB 1."""
    program = find_program("influxd")
    if program is None:
        return None
    own, backup = choose_port(port, 8086), choose_port(ANY_FREE_PORT, 8088)
    (folder / "influxdb.conf").write_text(
        f'reporting-disabled = true\nbind-address = "{HOST}:{backup}"\n'
        f'[meta]\ndir = "{folder}/meta"\n'
        f'[data]\ndir = "{folder}/data"\nwal-dir = "{folder}/wal"\n'
        f'[http]\nbind-address = "{HOST}:{own}"\nlog-enabled = false\n'
    )
    url = f"http://{HOST}:{own}"
    command = [str(program), "-config", "influxdb.conf"]
    return Service("influxdb", folder, command, url, _answers(f"{url}/ping"))


def _answers(url: str) -> Callable[[], bool]:
    def answers() -> bool:
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                return bool(answer.status < 300)
        except OSError:
            return False

    return answers


_ALL: Mapping[str, Callable[[Path, int | None], Service | None]] = {
    **MAKERS,
    "prometheus": prometheus,
    "pushgateway": pushgateway,
    "influxdb": influxdb,
}
_PACKAGES = {"pushgateway": "prometheus-pushgateway"}
"""Debian's names, where they differ."""


def promtool() -> str:
    """The path of Prometheus's own checker; the test is skipped where it is not installed."""
    found = find_program("promtool")
    if found is None:
        pytest.skip("missing: promtool is not installed: apt-get install prometheus")
    return str(found)


def _made(name: str, folder: Path) -> Service:
    """How it is started; the test is skipped where this machine cannot have it."""
    try:
        if name in ("kafka", "registry"):
            find_java()
        service = _ALL[name](folder, ANY_FREE_PORT)
    except JobError as error:
        pytest.skip(f"missing: {name}: {error.message}; {error.hint}")
    if service is None:
        package = _PACKAGES.get(name, name)
        pytest.skip(f"missing: {name} is not installed: apt-get install {package}")
    return service
