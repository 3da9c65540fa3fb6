"""Keys for the dependencies of a job's functions: files, archives, packages."""

from __future__ import annotations

from headrace.common._options.option import ConfigOption
from headrace.common._options.values import ValueKind

PYTHON_FILES: ConfigOption[str] = ConfigOption(
    "python.files",
    ValueKind.STRING,
    "",
    "Modules for the functions: .py files, folders, .zip, .whl and .egg files, separated by"
    " commas.",
)
PYTHON_ARCHIVES: ConfigOption[str] = ConfigOption(
    "python.archives",
    ValueKind.STRING,
    "",
    "Archives that are extracted into the functions' working directory, as path or path#folder,"
    " separated by commas.",
)
PYTHON_REQUIREMENTS: ConfigOption[str] = ConfigOption(
    "python.requirements",
    ValueKind.STRING,
    "",
    "A requirements file that pip installs for the functions; file#folder installs from a folder"
    " of packages.",
)
PYTHON_EXECUTABLE: ConfigOption[str] = ConfigOption(
    "python.executable",
    ValueKind.STRING,
    "",
    "The Python interpreter of the workers, where the job starts the Spark session; by default"
    " the program's.",
)
PYTHON_PATH: ConfigOption[str] = ConfigOption(
    "python.pythonpath",
    ValueKind.STRING,
    "",
    "Folders on the workers' machines where modules are searched, separated by colons.",
)
CACHED_FILES: ConfigOption[list[str]] = ConfigOption(
    "pipeline.cached-files",
    ValueKind.LIST,
    [],
    "Files that functions find by name in their working directory, as name:data,path:/tmp/data.bin;"
    " several are separated by semicolons.",
)
