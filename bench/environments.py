"""An environment for each peer, in ``.venv-bench``, made from its lock when first wanted.

Headrace and the peers that are Spark itself share this one: they are the same Spark.
``python -m bench.environments [NAME ...]`` makes them beforehand.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".venv-bench"
OWN = "headrace"
PACKAGES = (
    "pyspark",
    "pyarrow",
    "apache-flink",
    "bytewax",
    "pathway",
    "quixstreams",
    "confluent-kafka",
    "scikit-learn",
)
"""Whose versions stand with each result, where they are installed."""
_ASK_PACKAGES = """
import json, platform, sys
from importlib import metadata
found = {"python": platform.python_version()}
for name in sys.argv[1:]:
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""
_ASK_VERSION = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"


class UnbuildableError(RuntimeError):
    """An environment cannot be made here."""


@dataclass(frozen=True)
class Environment:
    """A locked environment and the Pythons that its packages have wheels for."""

    lock: str
    pythons: tuple[str, ...]
    why: str


ENVIRONMENTS = {
    "pyflink": Environment(
        "bench-pyflink.txt",
        ("3.11", "3.12"),
        "apache-flink 2.3.0 has wheels for these only",
    ),
    "bytewax": Environment(
        "bench-bytewax.txt",
        ("3.11", "3.12"),
        "bytewax 0.21.1 has wheels for these only",
    ),
    "pathway": Environment(
        "bench-pathway.txt",
        ("3.11", "3.12", "3.13"),
        "what pathway 0.33.0 needs is locked for these",
    ),
    "quix": Environment(
        "bench-quix.txt",
        ("3.11", "3.12", "3.13"),
        "what quixstreams 3.28.1 needs is locked for these",
    ),
    "plots": Environment("bench-plots.txt", ("3.11", "3.12", "3.13"), "matplotlib is locked so"),
    "models": Environment(
        "bench-models.txt", ("3.11", "3.12", "3.13"), "scikit-learn is locked so"
    ),
}


def python_for(name: str) -> str:
    """The interpreter of an environment, made first where it is missing or its lock has changed.

    Raises:
        UnbuildableError: no interpreter fits, or the packages cannot be installed.
    """
    if name == OWN:
        return sys.executable
    environment = ENVIRONMENTS[name]
    lock = ROOT / "requirements" / environment.lock
    build = ROOT / "requirements" / "build.txt"
    folder = FOLDER / name
    python, stamp = folder / "bin" / "python", folder / "lock"
    digest = hashlib.sha256(lock.read_bytes() + build.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest and python.exists():
        return str(python)
    base = _interpreter(name, environment)
    print(f"making {folder.relative_to(ROOT)} (a few minutes the first time)", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    _make(base, folder)
    # Some of Flink's dependencies come as source: what builds them is locked as well.
    _install(folder, build)
    _install(folder, lock)
    stamp.write_text(digest)
    return str(python)


@cache
def versions(name: str) -> dict[str, str]:
    """The versions of an environment's Python and packages; it is made where it is missing."""
    command = [python_for(name), "-c", _ASK_PACKAGES, *PACKAGES]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(answer.stdout)
    return found


def _interpreter(name: str, environment: Environment) -> str:
    tried = [sys.executable, *(f"python{version}" for version in environment.pythons)]
    for candidate in tried:
        try:
            # Asked by running it: a name on the path may be a shim that leads nowhere.
            answer = subprocess.run(
                [candidate, "-c", _ASK_VERSION], capture_output=True, text=True, check=True
            )
        except (OSError, subprocess.CalledProcessError):
            continue
        version, path = answer.stdout.split(maxsplit=1)
        if version in environment.pythons:
            return path.strip()
    raise UnbuildableError(
        f"{name} needs Python {' or '.join(environment.pythons)} ({environment.why}), and none of"
        f" {', '.join(tried)} is that: install one, or leave {name} out with --peers"
    )


def _make(python: str, folder: Path) -> None:
    uv = shutil.which("uv")
    command = [uv, "venv", "--quiet", "--python", python] if uv else [python, "-m", "venv"]
    _run([*command, str(folder)])


def _install(folder: Path, lock: Path) -> None:
    python, uv = str(folder / "bin" / "python"), shutil.which("uv")
    if uv:
        command = [uv, "pip", "install", "--quiet", "--python", python]
    else:
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        command += ["--use-pep517"]
    _run([*command, "--no-build-isolation", "--require-hashes", "-r", str(lock)])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise UnbuildableError(f"{' '.join(command)} failed:\n{last}")


def main() -> None:
    for name in sys.argv[1:] or ENVIRONMENTS:
        print(name, python_for(name))


if __name__ == "__main__":
    main()
