"""What a user sets for Spark outside of a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.runners.spark.startup.outside_settings import (
    argument_settings,
    outside_settings,
    with_arguments,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "spark-defaults.conf").write_text(
        "# of the machine\n! too\n\nspark.master     yarn\n  spark.a = b c \nspark.b:d\n"
        "spark.c e\\\n    f\nspark.d\nspark.e \\u0041\\tb\\\\\n"
    )
    return tmp_path


def settings_of(folder: Path, arguments: str = "", **environ: str) -> dict[str, str]:
    return outside_settings(
        {"SPARK_CONF_DIR": str(folder), "PYSPARK_SUBMIT_ARGS": arguments, **environ}
    )


def test_the_defaults_of_a_machine(folder: Path) -> None:
    assert settings_of(folder) == {
        "spark.master": "yarn",
        "spark.a": "b c",
        "spark.b": "d",
        "spark.c": "ef",
        "spark.d": "",
        "spark.e": "A\tb\\",
    }


def test_without_anything(tmp_path: Path) -> None:
    assert outside_settings({"SPARK_CONF_DIR": str(tmp_path)}) == {}
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.a 1")
    assert outside_settings({"SPARK_HOME": str(tmp_path)}) == {"spark.a": "1"}


def test_the_environment_counts_last(folder: Path, tmp_path: Path) -> None:
    variables = {"MASTER": "spark://there", "SPARK_DRIVER_MEMORY": "3g", "SPARK_REMOTE": ""}
    found = settings_of(folder, **variables)
    assert (found["spark.master"], found["spark.driver.memory"]) == ("yarn", "3g")
    assert "spark.remote" not in found


def test_arguments_count_first(folder: Path) -> None:
    arguments = "--master local[2] --conf 'spark.a=x y' -c spark.b=z=1 --name=theirs --verbose"
    found = settings_of(folder, f"{arguments} --driver-memory 5g pyspark-shell")
    assert found["spark.master"] == "local[2]"
    assert (found["spark.a"], found["spark.b"], found["spark.c"]) == ("x y", "z=1", "ef")
    assert (found["spark.app.name"], found["spark.driver.memory"]) == ("theirs", "5g")
    assert "spark.c" not in argument_settings({"PYSPARK_SUBMIT_ARGS": arguments})


def test_a_properties_file_takes_the_place_of_the_defaults(folder: Path) -> None:
    (folder / "own.conf").write_text("spark.a 1\n")
    option = f"--properties-file {folder}/own.conf"
    assert settings_of(folder, option) == {"spark.a": "1"}
    found = settings_of(folder, f"{option} --load-spark-defaults")
    assert (found["spark.a"], found["spark.b"]) == ("1", "d")


@pytest.mark.parametrize("given", ["", "pyspark-shell", "--name 'a b' pyspark-shell"])
def test_further_arguments(given: str) -> None:
    found = with_arguments(given, ["--conf", "spark.a=b c"])
    assert found.endswith("--conf 'spark.a=b c' pyspark-shell")
    assert argument_settings({"PYSPARK_SUBMIT_ARGS": found})["spark.a"] == "b c"
    assert found.startswith(given.removesuffix("pyspark-shell"))


def test_options_count_over_settings_in_any_order() -> None:
    for arguments in (
        "--master yarn --conf spark.master=local --conf spark.driver.memory=1g --driver-memory 2g",
        "--conf spark.master=local --driver-memory 2g --conf spark.driver.memory=1g --master yarn",
    ):
        found = argument_settings({"PYSPARK_SUBMIT_ARGS": f"{arguments} pyspark-shell"})
        assert found == {"spark.master": "yarn", "spark.driver.memory": "2g"}


@pytest.mark.parametrize(
    "given", ["pyspark-shell ", " pyspark-shell\n", "-c spark.a=1 pyspark-shell "]
)
def test_what_is_submitted_stays_behind_all_options(given: str) -> None:
    found = with_arguments(given, ["--master", "yarn"]).split()
    assert found[-3:] == ["--master", "yarn", "pyspark-shell"]
    assert found.count("pyspark-shell") == 1


def test_a_properties_file_in_another_encoding_is_read(folder: Path) -> None:
    (folder / "spark-defaults.conf").write_bytes("# Größe\nspark.a 1\n".encode("latin-1"))
    assert settings_of(folder) == {"spark.a": "1"}
