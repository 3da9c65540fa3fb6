"""The Python that a local session's workers start as.

Spark puts zip files of pyspark and py4j, and its core jar, in front of a worker's path. Imports
from a zip are compiled anew in every process: a job starts nine of them, at about 2 s each instead
of 0.5 s (Spark 4.3.0, 2 cores). The installed package is the same code, compiled once.
"""

from __future__ import annotations

import atexit
import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyspark

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
exec {python} "$@"
"""


def worker_python(paths: Sequence[str] = ()) -> str:
    """The path of an executable that is this interpreter, with pyspark from where it is installed.

    Modules are found in the folders ``paths`` too. This interpreter itself where pyspark is not
    installed beside it as files.
    """
    if os.name != "posix" or not Path(pyspark.__file__).is_file():
        return sys.executable
    folders = shlex.quote(os.pathsep.join(paths))
    handle, path = tempfile.mkstemp(prefix="headrace-python-")
    with os.fdopen(handle, "w") as file:
        file.write(_SCRIPT.format(python=shlex.quote(sys.executable), paths=folders))
    script = Path(path)
    script.chmod(0o700)
    atexit.register(script.unlink, missing_ok=True)
    return path
