"""The Python interpreter of a local session's workers, and of those on a cluster driver's machine.

Spark puts zip files of pyspark and py4j, and its core jar, first on a worker's module path. Modules
in a zip file are compiled in each process. A job starts nine processes, which take about 2 s each
instead of 0.5 s (Spark 4.3.0, 2 cores). The installed package is the same code, and is compiled
only once. The fork server imports the modules once for all nine processes.
"""

from __future__ import annotations

import atexit
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyspark

from headrace.errors import ConfigurationError
from headrace.runners.spark.startup import fork_client, fork_server
from headrace.runners.temporary_files import new_subfolder, private_file, process_folder

_SCRIPT = """\
#!/bin/sh
kept=
IFS=:
for entry in $PYTHONPATH; do
    case $entry in
        */pyspark.zip | */py4j-*.zip | */spark-core_*.jar) ;;
        *) kept=$kept${{kept:+:}}$entry ;;
    esac
done
unset IFS
PYTHONPATH=$kept${{kept:+:}}{paths}
export PYTHONPATH
[ ! -S {socket} ] || exec {python} -I -S {client} {socket} {python} "$@"
exec {python} "$@"
"""


def worker_python(paths: Sequence[str], log: Path, changed: Mapping[str, str] | None = None) -> str:
    """Return the path of an executable that runs this interpreter with the installed pyspark.

    ``paths``: more module folders. Processes are forked by a fork server, which logs to ``log`` and
    ends with this process. If pyspark is not installed as files, it is the interpreter itself.
    ``changed``: the environment variables of the processes that differ from this one's.
    """
    if os.name != "posix" or not Path(pyspark.__file__).is_file():
        return sys.executable
    folder = new_subfolder("python-")
    _start_fork_server(folder / "fork", paths, log, changed or {})
    script = folder / "python"
    script.write_text(
        _SCRIPT.format(
            python=shlex.quote(sys.executable),
            paths=shlex.quote(os.pathsep.join(paths)),
            client=shlex.quote(fork_client.__file__),
            socket=shlex.quote(str(folder / "fork")),
        )
    )
    script.chmod(0o700)
    return str(script)


def named_python(name: str, paths: Sequence[str], log: Path) -> str:
    """Return a ``PATH`` by which ``name`` is the executable that ``worker_python`` returns.

    On a cluster, Spark runs Python by the same name on the driver's machine and in the executors.
    """
    folder = new_subfolder("path-")
    path = os.pathsep.join([str(folder), path_of_this_interpreter()])
    (folder / name).symlink_to(worker_python(paths, log, {"PATH": path}))
    return path


def path_of_this_interpreter() -> str:
    """Return a ``PATH`` that begins with the folder of this interpreter."""
    return os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])


_PROBE = "import sys, headrace, pandas, pyarrow; print(*sys.version_info[:2], sep='.')"


def other_python(executable: str, paths: Sequence[str]) -> str:
    """Return an executable that runs another interpreter; ``paths``: more module folders.

    Raises:
        ConfigurationError: workers cannot run in it.
    """
    script = executable
    if os.name == "posix" and paths:
        script = _with_paths(executable, paths)
    probe = subprocess.run([script, "-c", _PROBE], capture_output=True, text=True, check=False)
    this_version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    output = (probe.stderr if probe.returncode else probe.stdout).strip().splitlines()[-1:]
    if probe.returncode or output != [this_version]:
        raise ConfigurationError(
            f"workers cannot run in {executable}",
            where={"it says": "".join(output)},
            hint=f"it must be Python {this_version}, the version of this program, and have Headrace"
            " and its libraries",
        )
    return script


def _with_paths(executable: str, paths: Sequence[str]) -> str:
    folder = new_subfolder("python-")
    script = folder / "python"
    found, python = shlex.quote(os.pathsep.join(paths)), shlex.quote(executable)
    script.write_text(
        f'#!/bin/sh\nexport PYTHONPATH=$PYTHONPATH${{PYTHONPATH:+:}}{found}\nexec {python} "$@"\n'
    )
    script.chmod(0o700)
    return str(script)


def _start_fork_server(
    path: Path, paths: Sequence[str], log: Path, changed: Mapping[str, str]
) -> None:
    """Start the server without waiting for its imports. If it fails, workers start without it."""
    inherited = os.environ.get("PYTHONPATH")
    environment = {
        **os.environ,
        **changed,
        **fork_server.FIXED,
        # What Spark gives its Python processes (4.3.0, pyspark/core/context.py).
        "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0"),
        "PYTHONPATH": os.pathsep.join([*([inherited] if inherited else []), *paths]),
    }
    # Bound here, so that a client that connects early waits for the server.
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener,
        open(private_file(log), "ab") as output,
    ):
        try:
            listener.bind(str(path))
        except OSError as error:  # a folder whose path is longer than a socket's may be
            output.write(f"no fork server: {path}: {error}\n".encode())
            return
        listener.listen(64)
        server = subprocess.Popen(
            [
                sys.executable,
                "-m",
                fork_server.__name__,
                str(listener.fileno()),
                str(process_folder()),
            ],
            pass_fds=[listener.fileno()],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,  # an interrupt from the terminal must reach only the driver
        )

    atexit.register(server.communicate, b"\n")
