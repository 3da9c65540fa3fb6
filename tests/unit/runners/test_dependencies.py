"""What a job's functions need beside it: declared, put into one folder, found while it runs."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.common.serialization import Encoder
from headrace.datastream import MapFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from headrace.errors import ConfigurationError
from headrace.runners.dependencies import activation
from headrace.runners.dependencies.declared import (
    Dependencies,
    declared_dependencies,
    interpreter_of,
    is_this_interpreter,
)
from headrace.runners.dependencies.folder import dependencies_folder, extract, working_folder
from headrace.runners.spark.modules import _modules_outside
from headrace.runners.spark.startup.interpreter import other_python


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict({"execution.target": "local"})
    return StreamExecutionEnvironment.get_execution_environment(configuration)


@pytest.fixture(autouse=True)
def undone() -> Iterator[None]:
    before = list(sys.path), os.getcwd(), set(sys.modules)
    yield
    assert (list(sys.path), os.getcwd()) == before[:2]
    assert not [name for name in sys.modules if name.startswith("needed_")]


def zipped(path: Path, **files: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), text)
    return path


class Reads(MapFunction):
    """Reads what the job brings: a module and, from the working directory, a file."""

    def __init__(self, module: str, *files: str) -> None:
        self.module, self.files = module, files

    def open(self, runtime_context: Any) -> None:
        self.texts = [Path(file).read_text() for file in self.files]

    def map(self, value: Any) -> Any:
        module = __import__(self.module)
        return (module.NAME, value, *self.texts)


def collected(stream: Any) -> list[Any]:
    with stream.execute_and_collect() as results:
        return list(results)


def test_all_kinds_are_there_while_the_job_runs(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    (tmp_path / "needed_file.py").write_text("NAME = 'file'")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "needed_in_folder.py").write_text("NAME = 'folder'")
    zipped(tmp_path / "some.zip", needed_in_zip_dot_py="NAME = 'zip'")
    zipped(tmp_path / "some.whl", needed_in_wheel_dot_py="NAME = 'wheel'")
    for given in ("needed_file.py", "folder", "some.zip", "some.whl"):
        env.add_python_file(str(tmp_path / given))
    env.add_python_archive(str(zipped(tmp_path / "data.zip", sub__a_dot_txt="of the archive")))
    env.add_python_archive(str(tmp_path / "data.zip"), "renamed")
    (tmp_path / "cached").write_text("of the cache")
    env.register_cached_file((tmp_path / "cached").as_uri(), "by-name", True)
    numbers = env.from_collection([1])
    files = ("data.zip/sub/a.txt", "renamed/sub/a.txt", "by-name")
    texts = ("of the archive", "of the archive", "of the cache")
    for module in ("file", "in_folder", "in_zip", "in_wheel"):
        reading = Reads(f"needed_{module}", *files)
        name = module.removeprefix("in_")
        assert collected(numbers.map(reading)) == [(name, 1, *texts)]


def test_two_jobs_have_modules_of_one_name(tmp_path: Path) -> None:
    for name in ("one", "two", "one"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "needed_module.py").write_text(f"NAME = {name!r}")
        env = StreamExecutionEnvironment(Configuration.from_dict({"execution.target": "local"}))
        env.add_python_file(str(tmp_path / name / "needed_module.py"))
        assert collected(env.from_collection([1]).map(Reads("needed_module"))) == [(name, 1)]


def test_a_module_is_the_same_one_when_its_job_goes_on(tmp_path: Path) -> None:
    (tmp_path / "needed_again.py").write_text("NAME = 'again'")
    folder = str(dependencies_folder(Dependencies(files=(str(tmp_path / "needed_again.py"),))))
    with activation.activated(folder):
        first = __import__("needed_again")
    assert "needed_again" not in sys.modules
    with activation.activated(folder):
        assert __import__("needed_again") is first


def test_paths_of_connectors_stay_where_they_were(
    env: StreamExecutionEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("a\nb\n")
    zipped(tmp_path / "data.zip", a_dot_txt="x")
    env.add_python_archive("data.zip")
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "in.txt").build()
    sink = FileSink.for_row_format("out", Encoder.simple_string_encoder()).build()
    env.from_source(source, None, "lines").sink_to(sink)
    env.execute()
    written = [p.read_text() for p in (tmp_path / "out").iterdir() if p.is_file()]
    assert "".join(written) == "a\nb\n"


def test_packages_are_installed_from_a_folder(
    env: StreamExecutionEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = []

    def pip(command: list[str], **options: Any) -> Any:
        commands.append((command, options["cwd"]))
        target = Path(command[command.index("--target") + 1])
        (target / "needed_package.py").write_text("NAME = 'package'")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("headrace.runners.dependencies.folder.subprocess.run", pip)
    (tmp_path / "requirements.txt").write_text("needed-package")
    (tmp_path / "cache").mkdir()
    env.set_python_requirements(str(tmp_path / "requirements.txt"), str(tmp_path / "cache"))
    for _ in range(2):
        assert collected(env.from_collection([1]).map(Reads("needed_package"))) == [("package", 1)]
    ((command, folder),) = commands  # once for equal content
    assert command[:4] == [sys.executable, "-m", "pip", "install"]
    assert command[-3:] == ["--no-index", "--find-links", str(tmp_path / "cache")]
    assert folder == str(tmp_path)


@pytest.mark.parametrize(
    ("said", "hint"), [("ERROR: no such package", None), ("No module named pip", "ensurepip")]
)
def test_what_pip_says_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, hint: str | None
) -> None:
    def fail(command: list[str], **options: Any) -> Any:
        return subprocess.CompletedProcess(command, 1, "", f"first\n{said}\n")

    monkeypatch.setattr("headrace.runners.dependencies.folder.subprocess.run", fail)
    (tmp_path / "requirements.txt").write_text("")
    needs = Dependencies(requirements=(str(tmp_path / "requirements.txt"), ""))
    with pytest.raises(ConfigurationError, match="pip could not install") as raised:
        dependencies_folder(needs)
    assert said in raised.value.where["pip says"]
    assert (hint or "") in (raised.value.hint or "")


def test_what_the_configuration_says() -> None:
    env = StreamExecutionEnvironment(Configuration())
    env.add_python_file("/a.py")
    env.add_python_file("/b.py")
    env.add_python_archive("/a.zip")
    env.add_python_archive("/b.zip", "target")
    env.set_python_requirements("/r.txt", "/cache")
    env.set_python_executable("python3")
    env.register_cached_file("/one", "first")
    env.register_cached_file("/two", "second", True)
    settings = env._configuration.to_dict()
    assert settings["python.files"] == "/b.py,/a.py"
    assert settings["python.archives"] == "/b.zip#target,/a.zip"
    assert settings["python.requirements"] == "/r.txt#/cache"
    assert settings["python.executable"] == "python3"
    assert settings["pipeline.cached-files"] == (
        "name:first,path:/one;name:second,path:/two,executable:true"
    )


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("python.files", "nowhere.py", "no file or folder 'nowhere.py'"),
        ("python.archives", "nowhere.zip", "no file or folder"),
        ("python.archives", f"{__file__}#a", "not an archive"),
        ("python.requirements", "nowhere.txt", "no file or folder"),
        ("pipeline.cached-files", "path:/tmp", "without a name and a path"),
        ("pipeline.cached-files", f"name:../out,path:{__file__}", "not within"),
        ("pipeline.cached-files", "name:a,path:/no/such/file", "no file or folder"),
    ],
)
def test_what_is_not_there_is_reported_when_the_job_starts(
    env: StreamExecutionEnvironment, key: str, value: str, says: str
) -> None:
    env.configure(Configuration.from_dict({key: value}))
    with pytest.raises(ConfigurationError, match=says):
        collected(env.from_collection([1]))


def test_further_folders_of_the_workers(tmp_path: Path) -> None:
    (tmp_path / "needed_there.py").write_text("NAME = 'there'")
    settings = {"execution.target": "local", "python.pythonpath": str(tmp_path)}
    env = StreamExecutionEnvironment(Configuration.from_dict(settings))
    stream = env.from_collection([1]).map(Reads("needed_there"))
    assert collected(stream) == [("there", 1)]
    del sys.modules["needed_there"]  # it is no part of the job, and stays


def test_archives_keep_permissions_and_links(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "tool").write_text("#!/bin/sh\n")
    (tree / "tool").chmod(0o755)
    (tree / "link").symlink_to("tool")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
        tar.add(tree, ".")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(tree / "tool", "tool")
        link = zipfile.ZipInfo("link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "tool")
    for name in ("a.tar.gz", "a.zip"):
        extract(tmp_path / name, tmp_path / "out" / name)
        assert os.access(tmp_path / "out" / name / "tool", os.X_OK)
        assert (tmp_path / "out" / name / "link").readlink() == Path("tool")
    (tmp_path / "bad.zip").write_text("no zip")
    with pytest.raises(ConfigurationError, match=r"'bad\.zip' cannot be extracted"):
        extract(tmp_path / "bad.zip", tmp_path / "bad")


@pytest.mark.parametrize("filters", [True, False], ids=["filters", "before 3.11.4"])
@pytest.mark.parametrize("through_link", [False, True])
def test_nothing_is_extracted_outside(
    filters: bool, through_link: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not filters:
        monkeypatch.delattr(tarfile, "tar_filter", raising=False)
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        if through_link:
            link = tarfile.TarInfo("way")
            link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
            tar.addfile(link)
        tar.addfile(tarfile.TarInfo("way/evil" if through_link else "../evil"))
    with pytest.raises(ConfigurationError, match=r"'a\.tar' cannot be extracted"):
        extract(tmp_path / "a.tar", tmp_path / "out")
    assert not (tmp_path / "evil").exists()


def test_the_interpreter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert is_this_interpreter(sys.executable)
    assert not is_this_interpreter("/bin/sh") and not is_this_interpreter("no-such-python")
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "bin" / "python").touch()
    assert interpreter_of("env/bin/python", str(tmp_path)) == str(tmp_path / "env/bin/python")
    assert interpreter_of("sh", None).endswith("/sh")
    with pytest.raises(ConfigurationError, match="no Python interpreter at 'env/bin/python'"):
        interpreter_of("env/bin/python", None)
    settings = {"execution.target": "local", "python.executable": "/bin/sh"}
    env = StreamExecutionEnvironment(Configuration.from_dict(settings))
    assert collected(env.from_collection([1])) == [1]
    assert "not in /bin/sh (python.executable)" in capsys.readouterr().err


def test_another_interpreter_finds_the_drivers_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = "import sys; print(*sys.version_info[:2], sep='.')"  # and no libraries: they are slow
    monkeypatch.setattr("headrace.runners.spark.startup.interpreter._PROBE", tried)
    (tmp_path / "needed_by_other.py").write_text("NAME = 'other'")
    python = other_python(sys.executable, [str(tmp_path)])
    program = "import needed_by_other; print(needed_by_other.NAME)"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "other\n"


@pytest.mark.parametrize(
    ("does", "says"), [("echo 2.7", "2.7"), ("echo no headrace >&2; exit 1", "no headrace")]
)
def test_an_interpreter_that_workers_cannot_run_in(tmp_path: Path, does: str, says: str) -> None:
    (tmp_path / "python").write_text(f"#!/bin/sh\n{does}\n")
    (tmp_path / "python").chmod(0o755)
    with pytest.raises(ConfigurationError, match="workers cannot run in") as raised:
        other_python(str(tmp_path / "python"), [str(tmp_path)])
    assert raised.value.where["it says"] == says


def test_modules_that_a_job_brings_do_not_travel(tmp_path: Path) -> None:
    for folder in ("driver", "brought"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "needed_by_both.py").write_text("NAME = 1")
    with activation.activated("", [str(tmp_path / "driver")]):
        module = __import__("needed_by_both")
        try:
            assert module in _modules_outside([])
            assert module not in _modules_outside([], [str(tmp_path / "brought")])
        finally:
            del sys.modules["needed_by_both"]


def test_nothing_is_made_where_nothing_is_needed() -> None:
    assert dependencies_folder(declared_dependencies(Configuration())) is None
    assert working_folder(None) is None
