"""A standalone cluster of the installed Spark: a master and workers on the loopback interface.

An executor shares nothing with the driver but the file system that a test names. It has a working
folder of its own, and a Python environment of its own, which has the libraries and not Headrace.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from headrace.runners.spark.startup.class_archive import archive_options
from headrace.runners.spark.startup.java import find_java
from tests.faults.processes import Process, descendants, kill

HOST = "127.0.0.1"
SPARK_HOME = Path(pyspark.__file__).parent
_SECONDS = 60.0
_OWN = ("headrace", "_editable_impl_headrace", "pyspark")
_MASTER_STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
_WORKER_STARTED = "Successfully registered with master"
# What would lead an executor to the driver's code.
_DRIVERS = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")


def make_bare_environment(folder: Path) -> Path:
    """Make a Python environment without any library. Returns the folder of its interpreter."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60
    )
    return folder / "bin"


def make_environment(folder: Path) -> Path:
    """Make a Python environment with the libraries of this one, but without Headrace and pyspark.

    Returns the folder of its interpreter.
    """
    libraries = folder / "libraries"
    libraries.mkdir(parents=True)
    for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if not entry.name.startswith(_OWN):
            (libraries / entry.name).symlink_to(entry)
    environment = folder / "environment"
    interpreter = make_bare_environment(environment)
    inside = sysconfig.get_path(
        "purelib", vars={"base": str(environment), "platbase": str(environment)}
    )
    Path(inside, "libraries.pth").write_text(f"{libraries}\n")
    return interpreter


@dataclass
class Daemon:
    """A master or a worker, with its log."""

    process: subprocess.Popen[bytes]
    log: Path

    def wait_for(self, pattern: str | re.Pattern[str]) -> re.Match[str]:
        """Return the first match of a pattern in the log.

        Raises:
            TimeoutError: it does not come, or the process has ended.
        """
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            found = re.search(pattern, self.log.read_text(errors="replace"))
            if found is not None:
                return found
            time.sleep(0.1)
        raise TimeoutError(f"{pattern} is not in {self.log.read_text(errors='replace')[-2000:]}")

    def executors(self) -> list[Process]:
        """Return the executors that a worker has started."""
        found = descendants(self.process.pid)
        return [p for p in found if "CoarseGrainedExecutorBackend" in p.command]

    def kill(self) -> None:
        """Kill it, with all processes that it has started, as when a machine goes away."""
        for each in [*descendants(self.process.pid), None]:
            kill(self.process.pid if each is None else each.pid)
        self.process.wait()


@dataclass
class Cluster:
    """A running master and its workers; ``folder`` has their logs and working folders."""

    folder: Path
    url: str = ""
    workers: list[Daemon] = field(default_factory=list)
    _daemons: list[Daemon] = field(default_factory=list)

    def start(self, workers: int = 0, hosts: Sequence[str] = ()) -> None:
        """Start the master and workers, and wait until they are registered.

        ``hosts``: the loopback addresses of further workers, which Spark takes for other machines.
        """
        master = self._start("master.Master", "master", os.environ["PATH"])
        self.url = master.wait_for(_MASTER_STARTED)[1]
        for daemon in [self._start_worker(host) for host in (*[HOST] * workers, *hosts)]:
            daemon.wait_for(_WORKER_STARTED)

    def add_worker(self) -> Daemon:
        """Start a further worker, and wait until it is registered."""
        worker = self._start_worker()
        worker.wait_for(_WORKER_STARTED)
        return worker

    def kill_worker(self, worker: Daemon) -> None:
        """Kill a worker, its executors, and their Python processes."""
        worker.kill()
        self.workers.remove(worker)

    def has_worked(self, worker: Daemon) -> bool:
        """Return whether a worker has had an executor."""
        return any((self.folder / worker.log.stem / "work").glob("app-*/*"))

    def stop(self) -> None:
        """End all processes."""
        for daemon in self._daemons:
            daemon.kill()

    def _start_worker(self, host: str = HOST) -> Daemon:
        name = f"worker-{len(self._daemons)}"
        interpreter = make_environment(self.folder / name)
        work = self.folder / name / "work"
        arguments = ["--cores", "1", "--memory", "1500m", "--work-dir", str(work), self.url]
        path = os.pathsep.join([str(interpreter), os.environ["PATH"]])
        worker = self._start("worker.Worker", name, path, *arguments, host=host)
        self.workers.append(worker)
        return worker

    def _start(self, kind: str, name: str, path: str, *arguments: str, host: str = HOST) -> Daemon:
        java = find_java()
        environment = {key: value for key, value in os.environ.items() if key not in _DRIVERS}
        environment |= {
            "PATH": path,
            "JAVA_HOME": str(java.home),
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": " ".join(["-XX:TieredStopAtLevel=1", *archive_options(java)]),
        }
        log = self.folder / f"{name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [
                    str(SPARK_HOME / "bin" / "spark-class"),
                    f"org.apache.spark.deploy.{kind}",
                    *("--host", host, "--port", "0", "--webui-port", "0"),
                    *arguments,
                ],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        daemon = Daemon(process, log)
        self._daemons.append(daemon)
        return daemon
