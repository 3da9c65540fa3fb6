"""The keys that say what a job's functions need beside it: files, archives, packages."""

from __future__ import annotations

from headrace.common._options.option import ConfigOption
from headrace.common._options.values import ValueKind

PYTHON_FILES: ConfigOption[str] = ConfigOption(
    "python.files",
    ValueKind.STRING,
    "",
    "Modules for the functions: .py files, folders, .zip, .whl and .egg files, divided by commas.",
)
PYTHON_ARCHIVES: ConfigOption[str] = ConfigOption(
    "python.archives",
    ValueKind.STRING,
    "",
    "Archives that are extracted into the functions' working folder, as path or path#folder,"
    " divided by commas.",
)
PYTHON_REQUIREMENTS: ConfigOption[str] = ConfigOption(
    "python.requirements",
    ValueKind.STRING,
    "",
    "A requirements file, or file#folder with the packages: pip installs them for the functions.",
)
PYTHON_EXECUTABLE: ConfigOption[str] = ConfigOption(
    "python.executable",
    ValueKind.STRING,
    "",
    "The interpreter of the workers of a session that the job starts; by default this one.",
)
PYTHON_PATH: ConfigOption[str] = ConfigOption(
    "python.pythonpath",
    ValueKind.STRING,
    "",
    "Folders of the workers' machines to look for modules in, divided by colons.",
)
CACHED_FILES: ConfigOption[list[str]] = ConfigOption(
    "pipeline.cached-files",
    ValueKind.LIST,
    [],
    "Files that functions find by name in their working folder: name:data,path:/tmp/data.bin;"
    " several are divided by semicolons.",
)
