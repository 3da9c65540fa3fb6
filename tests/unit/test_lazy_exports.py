"""Names that modules and packages offer without having imported them yet."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

from headrace._lazy_exports import _PYFLINK_HOMES, lazy_exports

SOURCE = Path(__file__).parents[2] / "src"
PACKAGES = [
    "headrace." + ".".join(stub.parent.relative_to(SOURCE / "headrace").parts)
    for stub in sorted(SOURCE.rglob("__init__.pyi"))
]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_offers_the_names_of_its_stub(package: str) -> None:
    offered = import_module(package)
    everything: dict[str, object] = {}
    exec(f"from {package} import *", everything)
    assert len(offered.__all__) == len(set(offered.__all__)) > 8
    assert set(offered.__all__) == everything.keys() - {"__builtins__"}
    assert set(offered.__all__) <= set(dir(offered))
    for name, value in everything.items():
        if name != "__builtins__":
            assert getattr(value, "__name__", name) == name


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_has_no_other_name(package: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'Nonsense'"):
        _ = import_module(package).Nonsense


def run(code: str, *path: Path) -> str:
    settings = [sys.executable, "-c", f"import sys; sys.path[:0] = {list(map(str, path))}; {code}"]
    return subprocess.run(settings, check=True, capture_output=True, text=True).stdout.strip()


def test_a_name_is_imported_when_it_is_asked_for() -> None:
    code = (
        "import headrace.cep, headrace.datastream, headrace.datastream.connectors;"
        "import headrace.table, headrace.testing;"
        "loaded = [name for name in sys.modules if name.startswith('headrace.')];"
        "from headrace.cep import PatternProcessFunction, SimpleCondition;"
        "from headrace.datastream import MapFunction;"
        "print(*sorted(loaded), 'headrace.datastream.data_stream' in sys.modules)"
    )
    assert run(code, SOURCE).split() == ["headrace._lazy_exports", *PACKAGES, "False"]


def test_names_are_found_in_a_zip_file(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "headrace.zip", "w") as file:
        for path in [*(SOURCE / "headrace").rglob("*.py"), *SOURCE.rglob("*.pyi")]:
            file.write(path, path.relative_to(SOURCE))
    code = "from headrace.datastream import OutputTag; print(sys.modules[OutputTag.__module__])"
    assert str(tmp_path) in run(code, tmp_path / "headrace.zip")


def test_programs_import_them() -> None:
    from headrace.common import JsonRowDeserializationSchema
    from headrace.datastream import KeyedProcessFunction, RuntimeExecutionMode, formats
    from headrace.datastream.data_stream import KeyedProcessFunction as of_streams
    from headrace.datastream.formats._json.messages import JsonDeserializationSchema as of_messages
    from headrace.datastream.formats.json import JsonDeserializationSchema  # with the others
    from headrace.datastream.functions import ValueStateDescriptor as of_functions
    from headrace.datastream.state import ValueStateDescriptor
    from headrace.datastream.stream_execution_environment import RuntimeExecutionMode as of_env

    assert JsonDeserializationSchema is of_messages
    assert of_functions is ValueStateDescriptor and of_streams is KeyedProcessFunction
    assert of_env is RuntimeExecutionMode
    assert JsonRowDeserializationSchema is formats.json.JsonRowDeserializationSchema


@pytest.mark.parametrize("module", _PYFLINK_HOMES)
def test_all_names_of_a_module_are_there(module: str) -> None:
    asked = import_module(f"headrace.{module}")
    for home, names in _PYFLINK_HOMES[module].items():
        defined = import_module(f"headrace.{home}")
        for name in names.split():
            assert getattr(asked, name) is getattr(defined, name)


def test_another_name_is_missing() -> None:
    with pytest.raises(AttributeError, match=r"module 'headrace.common' has no attribute 'Metric'"):
        lazy_exports("headrace.common")("Metric")
