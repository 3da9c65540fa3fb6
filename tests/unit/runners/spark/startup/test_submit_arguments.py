"""What a JVM that starts is given in files, and not on its command line."""

from __future__ import annotations

import os
import re
import shlex
import stat
from pathlib import Path

import pytest

from headrace.errors import ConfigurationError
from headrace.runners.spark.startup.submit_arguments import submitted_in_files

VARIABLE = "PYSPARK_SUBMIT_ARGS"
SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.hadoop.fs.s3a.secret.key": " a=b:c\\d é 😀\n#!",
    "spark.driver.extraJavaOptions": "-Dpassword='s3cret \"word\"' -Dpath=a\\\\b",
}


def read(properties: str) -> dict[str, str]:
    """The keys and values, as ``java.util.Properties`` reads lines whose signs are all escaped."""
    lines = (line.split("=", 1) for line in properties.splitlines() if line)
    return {_plain(key): _plain(value) for key, value in lines}


def _plain(text: str) -> str:
    units = re.findall(r"\\u([0-9a-f]{4})|(.)", text)
    data = b"".join(bytes.fromhex(u) if u else c.encode("utf-16-be") for u, c in units)
    return data.decode("utf-16-be")


def file_in(arguments: str) -> Path:
    found = shlex.split(arguments)
    return Path(found[found.index("--properties-file") + 1])


def test_settings_are_in_a_file_and_not_among_the_arguments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with submitted_in_files(SETTINGS):
        arguments = os.environ[VARIABLE]
        path = file_in(arguments)
        assert shlex.split(arguments)[2:] == ["--load-spark-defaults", "pyspark-shell"]
        found = read(path.read_text())
        options = found.pop("spark.driver.extraJavaOptions")
        assert found == {k: v for k, v in SETTINGS.items() if "Java" not in k}
        java = Path(options.strip('"').removeprefix("@"))
        assert java.read_text() == '"-Dpassword=s3cret \\"word\\""\n"-Dpath=a\\\\b"\n'
        assert {stat.S_IMODE(each.stat().st_mode) for each in (path, java)} == {0o600}
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert VARIABLE not in os.environ and not path.parent.exists()


@pytest.mark.parametrize("form", ["--properties-file {}", "--properties-file={}"])
def test_the_users_arguments_and_properties_file_count_too(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "their own.conf"
    theirs.write_text("spark.jars=theirs.jar\nspark.driver.memory=9g")
    given = f"--conf 'spark.a=b c' {form.format(shlex.quote(str(theirs)))} pyspark-shell"
    monkeypatch.setenv(VARIABLE, given)
    with submitted_in_files({"spark.driver.memory": "2g"}):
        arguments = os.environ[VARIABLE]
        assert shlex.split(arguments)[2:] == ["pyspark-shell"]
        assert read(file_in(arguments).read_text()) == {
            "spark.jars": "theirs.jar",
            "spark.driver.memory": "2g",
            "spark.a": "b c",
        }
    assert os.environ[VARIABLE] == given


@pytest.mark.parametrize(
    ("options", "message"),
    [("-Da='b", "cannot be read: No closing quotation"), ("-Xmx4g", "sets -Xmx")],
)
def test_options_that_java_would_not_get(options: str, message: str) -> None:
    key = "spark.driver.extraJavaOptions"
    with (
        pytest.raises(ConfigurationError, match=f"{key} {message}"),
        submitted_in_files({key: options}),
    ):
        raise AssertionError("not reached")
