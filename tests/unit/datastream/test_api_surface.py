"""Every public name of PyFlink's DataStream API is here: working, or declared with a reason."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from headrace.errors import UnsupportedError
from scripts import api_table
from scripts.api_table import (
    ACCEPTED,
    DIFFERS,
    UNSUPPORTED,
    WORKS,
    MissingNameError,
    Name,
    find,
    find_in_package,
    names_of,
    parameter_problem,
)

ALL = names_of("DataStream API")
TABLES = names_of("Table API")


def test_the_list_is_whole() -> None:
    assert len(ALL) == len(set(ALL)) > 1600
    modules = {name.module for name in ALL}
    assert {"datastream.data_stream", "common.typeinfo", "metrics.metricbase"} <= modules


def test_every_name_is_there_or_declared() -> None:
    statuses = {name: find(name) for name in ALL}  # raises for one that is neither
    assert {finding.status for finding in statuses.values()} == {
        WORKS,
        ACCEPTED,
        DIFFERS,
        UNSUPPORTED,
    }
    without_reason = [
        str(name) for name, found in statuses.items() if found.status != WORKS and not found.reason
    ]
    assert without_reason == []


def test_every_name_of_tables_is_there_or_declared() -> None:
    assert len(TABLES) == len(set(TABLES)) > 1200
    findings = {name: find(name) for name in TABLES}  # raises for one that is neither
    without_reason = [
        str(name) for name, found in findings.items() if found.status != WORKS and not found.reason
    ]
    assert without_reason == []


def test_what_does_not_work_is_a_connectors_or_the_jvms() -> None:
    others = [
        str(name)
        for name, finding in ((name, find(name)) for name in ALL)
        if finding.status == UNSUPPORTED
        and not name.module.startswith(("datastream.connectors.", "datastream.formats."))
        and "JVM" not in finding.reason
    ]
    assert others == []


def test_parameters_are_called_as_in_pyflink() -> None:
    problems = {}
    for name in (*ALL, *TABLES):
        finding = find(name)
        if finding.status in (WORKS, ACCEPTED):
            problem = parameter_problem(name, finding.found)
            if problem is not None:
                problems[str(name)] = problem
    assert problems == {}


@pytest.mark.parametrize("path", sorted(api_table.DIFFERENCES))
def test_a_declared_difference_is_one(path: str) -> None:
    spoken_of = [name for name in ALL if name.difference and name.difference[0] == path]
    assert spoken_of, f"{path} is no name of PyFlink's"
    for name in spoken_of:
        try:
            finding = find_in_package(name)
        except MissingNameError:
            return
        if finding.status == UNSUPPORTED:
            continue
        if parameter_problem(name, finding.found) is not None:
            return
    pytest.fail(f"{path} does not differ (any more): take it out of DIFFERENCES")


def test_the_central_names_work() -> None:
    for owner, member in [
        ("DataStream", "map"),
        ("DataStream", "union"),
        ("KeyedStream", "reduce"),
        ("KeyedStream", "process"),
    ]:
        assert find(Name("datastream.data_stream", owner, member)).status == WORKS
    module = "datastream.stream_execution_environment"
    for member in ("from_collection", "from_source", "execute", "execute_async"):
        assert find(Name(module, "StreamExecutionEnvironment", member)).status == WORKS


def test_using_an_unsupported_name_says_why() -> None:
    used = 0
    for name in ALL:
        finding = find(name)
        if finding.status == UNSUPPORTED and callable(finding.found):
            with pytest.raises(UnsupportedError) as raised:
                finding.found()
            assert finding.reason in str(raised.value)
            used += 1
    assert used > 250


def test_a_missing_name_is_noticed() -> None:
    with pytest.raises(MissingNameError, match="no_such_method"):
        find(Name("datastream.data_stream", "DataStream", "no_such_method", ()))
    with pytest.raises(MissingNameError, match="no_such_module"):
        find(Name("datastream.no_such_module", "DataStream"))


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        (("func", "output_type="), None),
        (("function", "output_type="), "function is called func"),
        (("func=", "output_type="), "func= has no default"),
        (("func", "output_type=", "more"), "more is missing"),
        (("*func",), "*func differs in kind"),
        ((), "func is needed beside PyFlink's"),
    ],
)
def test_parameter_problems(parameters: tuple[str, ...], problem: str | None) -> None:
    name = Name("datastream.data_stream", "DataStream", "map", parameters)
    assert parameter_problem(name, find(name).found) == problem


@pytest.mark.parametrize(
    "package", ["headrace", "headrace.datastream", "headrace.datastream.connectors"]
)
def test_exports(package: str) -> None:
    module = import_module(package)
    assert {name for name in module.__all__ if not hasattr(module, name)} == set()
    assert set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        module.nothing_of_the_kind  # noqa: B018


def test_functions_alone_import_little() -> None:
    program = (
        "import sys; import headrace.datastream.functions;"
        "print([m for m in sys.modules if m in ('headrace.graph.transformation', 'pyspark',"
        " 'headrace.datastream.data_stream')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(api_table.ROOT / "src")},
    )
    assert done.stdout.strip() == "[]"


def test_the_page_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert api_table.main(["--check"]) == 0, capsys.readouterr().out


def test_a_page_out_of_date_is_noticed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = api_table.ROOT / "docs" / "no-such-page.md"
    monkeypatch.setattr(api_table, "PAGE", old)
    assert api_table.main(["--check"]) == 1
    assert "out of date" in capsys.readouterr().out
