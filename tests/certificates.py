"""A certificate for servers on this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from headrace.dev.ports import HOST
from headrace.errors import JobError
from headrace.runners.spark.startup.java import find_java

STORE_PASSWORD = "of-the-store"


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Make a server's key store, and its certificate as PEM, which is its own authority."""
    try:
        keytool = find_java().home / "bin" / "keytool"
    except JobError as error:
        pytest.skip(f"missing: {error.message}; {error.hint}")
    if not keytool.exists():
        pytest.skip("missing: keytool, which comes with Java")
    keystore, certificate = folder / "server.p12", folder / "server.pem"
    common = ["-alias", "server", "-keystore", str(keystore), "-storepass", STORE_PASSWORD]
    kind = ["-keyalg", "EC", "-groupname", "secp256r1", "-storetype", "PKCS12", "-validity", "2"]
    names = ["-dname", "CN=localhost", "-ext", f"SAN=ip:{HOST},dns:localhost"]
    for arguments in (
        ["-genkeypair", *common, *kind, *names],
        ["-exportcert", "-rfc", *common, "-file", str(certificate)],
    ):
        subprocess.run([str(keytool), *arguments], check=True, capture_output=True)
    return keystore, certificate
