"""``import pyflink`` gives Headrace where the hook is installed."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from importlib import import_module, reload
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import headrace.datastream
from headrace.errors import HeadraceError, UnsupportedModuleError
from headrace.runners import pyflink_imports
from headrace.runners.spark.query.shipped_dependencies import ShippedDependencies


@pytest.fixture(autouse=True)
def hook() -> Iterator[None]:
    pyflink_imports.install()
    yield
    pyflink_imports.uninstall()
    assert "pyflink" not in sys.modules and not pyflink_imports.is_installed()


def test_every_way_to_import() -> None:
    names: dict[str, Any] = {}
    exec(
        "import pyflink, pyflink.version\n"
        "import pyflink.datastream as ds\n"
        "from pyflink.datastream import StreamExecutionEnvironment, DataStream as Stream\n"
        "from pyflink.datastream.connectors.kafka import KafkaSource\n"
        "from pyflink.common import *\n"
        "from pyflink import datastream\n",
        names,
    )
    assert names["ds"] is names["datastream"] is headrace.datastream
    assert names["Stream"] is headrace.datastream.DataStream
    assert names["pyflink"].datastream is headrace.datastream
    assert names["pyflink"].__version__ == names["pyflink"].version.__version__ == "2.3.0"
    assert names["Row"].__module__.startswith("headrace.")
    assert names["KafkaSource"].__name__ == "KafkaSource"


def test_a_module_is_as_it_was() -> None:
    before = headrace.datastream.__spec__
    module: Any = import_module("pyflink.datastream")
    assert module.__spec__ is before and module.__name__ == "headrace.datastream"
    assert sys.modules["headrace.datastream"] is module
    made: Any = import_module("pyflink.common").Row(1)
    assert pickle.loads(pickle.dumps(made)) == made


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("pyflink.cep", "import headrace.cep"),
        ("pyflink.java_gateway", "JVM"),
        ("pyflink.nothing", "no such module"),
        ("pyflink.runners", "no such module"),
        ("pyflink.datastream.nothing", "no module headrace.datastream.nothing"),
    ],
)
def test_what_is_not_there_says_why(name: str, says: str) -> None:
    with pytest.raises(UnsupportedModuleError, match=says) as raised:
        import_module(name)
    assert isinstance(raised.value, HeadraceError) and isinstance(raised.value, ImportError)
    assert raised.value.name is not None and name.startswith(raised.value.name)


def test_the_table_api_is_there() -> None:
    ours, named = import_module("headrace.table"), import_module("pyflink.table")
    assert named.TableEnvironment is ours.TableEnvironment


def test_a_pyflink_that_is_installed_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyflink_imports.uninstall()
    (tmp_path / "pyflink").mkdir()
    (tmp_path / "pyflink" / "__init__.py").write_text("__version__ = 'theirs'")
    (tmp_path / "pyflink" / "datastream.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    theirs: Any = import_module("pyflink")
    assert theirs.__version__ == "theirs"
    pyflink_imports.install()
    ours: Any = import_module("pyflink")
    assert ours.__version__ == "2.3.0"
    assert import_module("pyflink.datastream") is headrace.datastream


def test_workers_get_the_hook_with_the_program() -> None:
    without: Any = None
    assert ShippedDependencies.ship(without, None, ()).pyflink
    pyflink_imports.uninstall()
    assert not ShippedDependencies.ship(without, None, ()).pyflink
    ShippedDependencies().activate_in_worker()
    assert not pyflink_imports.is_installed()
    ShippedDependencies(pyflink=True).activate_in_worker()
    assert pyflink_imports.is_installed()


def test_installing_twice_is_installing_once() -> None:
    finders = len(sys.meta_path)
    pyflink_imports.install()
    assert len(sys.meta_path) == finders
    module: ModuleType = import_module("pyflink")
    assert reload(module) is module
