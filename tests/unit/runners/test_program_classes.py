"""Classes of a script are found by name in a process that never ran it."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import cloudpickle
import pytest

from headrace.runners import program_classes

pytestmark = pytest.mark.slow

SCRIPT = """
import pickle
import sys
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from headrace.runners import program_classes


class Side(Enum):
    BUY = 1


class Pair(NamedTuple):
    a: int
    b: int


class Outer:
    @dataclass
    class Inner:
        side: Side


@dataclass(frozen=True)
class Order:
    pair: Pair
    inner: Outer.Inner


def local():
    @dataclass
    class Here:
        n: int

    return Here


Here = local()


def make(n):
    return Order(Pair(n, n), Outer.Inner(Side.BUY))


here = lambda n: Here(n)
held = [Order(Pair(1, 2), Outer.Inner(Side.BUY))]
out = sys.stdout.buffer
dumps = program_classes.dumps
out.write(pickle.dumps([dumps(make), dumps(len, used_by=held), dumps(here)]))
"""

OTHER = """
import pickle
import sys

from headrace.runners import program_classes

sent, records = pickle.load(sys.stdin.buffer)
function, names = program_classes.loads(sent)
found = function(7) if records is None else pickle.loads(records)
sys.stdout.buffer.write(pickle.dumps(found))
print(repr(found), sorted(name for _, name in names), file=sys.stderr)
"""


def run(folder: Path, script: str, given: bytes = b"") -> tuple[bytes, str]:
    path = folder / "script.py"
    path.write_text(script)
    done = subprocess.run([sys.executable, str(path)], input=given, capture_output=True)
    return done.stdout, done.stderr.decode()


ORDER = "Order(pair=Pair(a=7, b=7), inner=Outer.Inner(side=<Side.BUY: 1>))"
NAMES = "['Order', 'Outer', 'Outer.Inner', 'Pair', 'Side']"
WITHOUT_OUTER = "['Order', 'Outer.Inner', 'Pair', 'Side']"


def test_objects_are_pickled_by_name_in_one_process_and_read_in_another(tmp_path: Path) -> None:
    made, _ = run(tmp_path, SCRIPT)
    by_function, by_record, by_local = pickle.loads(made)
    records, said = run(tmp_path, OTHER, pickle.dumps((by_function, None)))
    assert said == f"{ORDER} {NAMES}\n"
    assert b"<locals>" not in records and len(records) < 300  # names, not classes
    # Here the classes came with a record that the program holds, not with a function.
    again, said = run(tmp_path, OTHER, pickle.dumps((by_record, records)))
    assert (again, said) == (records, f"{ORDER} {WITHOUT_OUTER}\n")
    nothing, said = run(tmp_path, OTHER, pickle.dumps((by_local, None)))
    assert nothing == b"" and "Can't pickle local object 'local.<locals>.Here'" in said


TWICE = """
import pickle
import sys

from headrace.runners import program_classes

first, second = pickle.load(sys.stdin.buffer)
for job in (first, second):
    job["make"], job["names"] = program_classes.loads(job["sent"])
for job in (first, second, first):
    program_classes.register_classes(job["names"])
    assert pickle.loads(pickle.dumps(job["make"](1))) == job["make"](1)
print(first["make"](1), second["make"](1))
try:
    pickle.dumps(second["make"](1))
except pickle.PicklingError as error:
    print(error)
"""


def test_two_programs_have_classes_of_one_name(tmp_path: Path) -> None:
    jobs = []
    for fields in ("a: int", "a: int\n    b: int = 5"):
        script = (
            "import sys\nfrom dataclasses import dataclass\n"
            "from headrace.runners import program_classes\n"
            f"@dataclass\nclass Order:\n    {fields}\n"
            "sys.stdout.buffer.write(program_classes.dumps(lambda a: Order(a)))\n"
        )
        jobs.append({"sent": run(tmp_path, script)[0]})
    said, errors = run(tmp_path, TWICE, pickle.dumps(jobs))
    lines = said.decode().splitlines()
    assert lines[0] == "Order(a=1) Order(a=1, b=5)", errors
    assert "not the same object" in lines[1]  # the last one put counts


FROM_A_PACKAGE = """
import sys

import cloudpickle

from headrace.runners import program_classes

sys.path.append(sys.argv[0].replace("script.py", "away"))
from trading import orders

cloudpickle.register_pickle_by_value(orders)
sys.stdout.buffer.write(program_classes.dumps(lambda n: orders.Order(n)))
"""


def test_a_class_of_a_module_in_a_package_that_is_not_there(tmp_path: Path) -> None:
    package = tmp_path / "away" / "trading"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "orders.py").write_text(
        "from dataclasses import dataclass\n@dataclass\nclass Order:\n    n: int\n"
    )
    sent, errors = run(tmp_path, FROM_A_PACKAGE)
    assert sent, errors
    records, said = run(tmp_path, OTHER, pickle.dumps((sent, None)))
    assert said == "Order(n=7) ['Order']\n"
    assert run(tmp_path, OTHER, pickle.dumps((sent, records))) == (records, said)


def test_functions_keep_the_file_that_they_are_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """cloudpickle leaves it out from 3.1.3 on, and a traceback then shows no lines."""
    reduce = cloudpickle.Pickler.dispatch_table[CodeType]

    def reduce_without_file(code: CodeType) -> Any:
        return reduce(code.replace(co_filename="<dynamic-code>"))

    monkeypatch.setitem(cloudpickle.Pickler.dispatch_table, CodeType, reduce_without_file)

    def make() -> Any:
        return lambda: [1]

    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile("def outer():\n    return lambda: 1", "/the/script.py", "exec"), namespace)
    for function, file in ((namespace["outer"], "/the/script.py"), (make, __file__)):
        code = function.__code__
        sent = program_classes.dumps(FunctionType(code, {"__name__": "__main__"}))
        loaded, _ = program_classes.loads(sent)
        assert loaded.__code__ == code
        assert (loaded.__code__.co_filename, loaded().__code__.co_filename) == (file, file)


def test_fields_without_a_default_have_none_in_another_process(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from dataclasses import dataclass\n"
        "from headrace.runners import program_classes\n"
        "@dataclass\n"
        "class Order:\n"
        "    id: int\n"
        "sys.stdout.buffer.write(program_classes.dumps(Order))\n"
    )
    pickled = subprocess.run([sys.executable, script], capture_output=True, check=True).stdout
    reader = (
        "import dataclasses, sys\n"
        "from headrace.runners import program_classes\n"
        "order, _ = program_classes.loads(sys.stdin.buffer.read())\n"
        "(id_,) = dataclasses.fields(order)\n"
        "assert id_.default is id_.default_factory is dataclasses.MISSING\n"
    )
    subprocess.run([sys.executable, "-c", reader], input=pickled, check=True)
