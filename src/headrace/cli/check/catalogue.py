"""The status of each public name of PyFlink: it works, is accepted, differs, or does not work.

The names are in two lists, and are looked up in the package, where objects that do not work are
marked (``common/_unsupported.py``, ``common/_no_effect.py``). docs/api-coverage.md shows the same.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from headrace.common._no_effect import no_effect_reason
from headrace.common._unsupported import is_unsupported, reason_of

WORKS, ACCEPTED, UNSUPPORTED = "works", "accepted, no effect", "unsupported"
DIFFERS = "differs"

_JVM = "it would give an object of Flink's JVM, and there is none"
_NESTED = "FileSink's for_ methods give builders; their classes stand beside it, not in it"
_ONE_NAME = "its parameter is called obj in every type"

LISTS = ("pyflink_names.txt", "pyflink_table_names.txt")
"""The names of the DataStream API, with common and metrics; and those of the Table API."""

DIFFERENCES = {
    "datastream.connectors.base.Source.init": "a Source is a class to derive from",
    "datastream.connectors.base.Sink.init": "a Sink is a class to derive from",
    "datastream.connectors.base.StreamTransformer": _JVM,
    "datastream.connectors.base.SupportsPreprocessing": _JVM,
    "datastream.connectors.file_system.FileSink.get_transformer": _JVM,
    "datastream.connectors.file_system.FileSink.BaseBuilder": _NESTED,
    "datastream.connectors.file_system.FileSink.BulkFormatBuilder": _NESTED,
    "datastream.connectors.file_system.FileSink.RowFormatBuilder": _NESTED,
    "datastream.output_tag.OutputTag.get_java_output_tag": _JVM,
    "common.types.RowKind.to_j_row_kind": _JVM,
    "common.typeinfo.DateTypeInfo.to_internal_type": _ONE_NAME,
    "common.typeinfo.DateTypeInfo.from_internal_type": _ONE_NAME,
    "common.typeinfo.TimeTypeInfo.to_internal_type": _ONE_NAME,
    "common.typeinfo.TimeTypeInfo.from_internal_type": _ONE_NAME,
    "common.typeinfo.TimestampTypeInfo.to_internal_type": _ONE_NAME,
    "common.typeinfo.TimestampTypeInfo.from_internal_type": _ONE_NAME,
}
"""Names (a class includes its members) that are missing or have other parameters, and why."""


@dataclass(frozen=True)
class Name:
    """A line of a list; ``parameters`` is None for classes and enum members."""

    module: str
    owner: str
    member: str | None = None
    parameters: tuple[str, ...] | None = None

    def __str__(self) -> str:
        path = f"{self.module}.{self.owner}"
        return path if self.member is None else f"{path}.{self.member}"

    @property
    def difference(self) -> tuple[str, str] | None:
        """The entry of DIFFERENCES for this name, or None."""
        for path in (str(self), f"{self.module}.{self.owner}"):
            if path in DIFFERENCES:
                return path, DIFFERENCES[path]
        return None


@dataclass(frozen=True)
class Finding:
    """The object with a name, and whether it works."""

    found: Any
    status: str
    reason: str = ""


class MissingNameError(LookupError):
    """A name of PyFlink that does not exist here and is not in DIFFERENCES."""


def text_of(names: str) -> str:
    """Return the text of one of ``LISTS``."""
    return files(__package__).joinpath(names).read_text("utf-8")


def read_names(text: str) -> Iterator[Name]:
    """Yield the names of the list, in order."""
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        module, _, rest = line.partition(" ")
        path, bracket, parameters = rest.partition("(")
        if bracket:
            owner, _, member = path.rpartition(".")
            given = parameters.rstrip(")").split(", ") if parameters != ")" else []
            if owner:
                yield Name(module, owner, member, tuple(given))
            else:  # a function
                yield Name(module, member, None, tuple(given))
        elif "." in path and not path.rpartition(".")[2][:1].isupper():
            raise ValueError(f"{line!r}: a method without parameters in brackets")
        else:
            yield Name(module, path)


def find(name: Name) -> Finding:
    """Look a name up, in DIFFERENCES first.

    Raises:
        MissingNameError: the name does not exist.
    """
    if name.difference is not None:
        return Finding(None, DIFFERS, name.difference[1])
    return find_in_package(name)


def find_in_package(name: Name) -> Finding:
    """Look a name up in the package.

    Raises:
        MissingNameError: the name does not exist.
    """
    try:
        owner: Any = import_module(f"headrace.{name.module}")
    except ModuleNotFoundError as error:
        raise MissingNameError(f"{name}: {error}") from None
    reason: str | None = None
    for part in name.owner.split("."):
        if is_unsupported(owner):
            return Finding(owner, UNSUPPORTED, reason_of(owner))
        owner = _get_attribute(owner, part, name)
        reason = no_effect_reason(owner) or reason
    if is_unsupported(owner):
        return Finding(owner, UNSUPPORTED, reason_of(owner))
    found = owner
    if name.member is not None and name.member != "init":
        found = _get_attribute(owner, name.member, name)
        if is_unsupported(found):
            return Finding(found, UNSUPPORTED, reason_of(found))
        reason = no_effect_reason(found) or reason
    return Finding(found, ACCEPTED, reason) if reason else Finding(found, WORKS)


def _get_attribute(owner: Any, part: str, name: Name) -> Any:
    try:
        return getattr(owner, part)
    except AttributeError as error:
        raise MissingNameError(f"{name}: {error}") from None


def members() -> dict[int, dict[str | None, Name]]:
    """Map the identity of each class and function to its members by name; itself under None.

    Tables are among them when the package has been imported.
    """
    return _members_in(LISTS if "headrace.table" in sys.modules else LISTS[:1])


@cache
def _members_in(lists: tuple[str, ...]) -> dict[int, dict[str | None, Name]]:
    found: dict[int, dict[str | None, Name]] = {}
    for name in (name for each in lists for name in read_names(text_of(each))):
        try:
            owner: Any = import_module(f"headrace.{name.module}")
            for part in name.owner.split("."):
                owner = getattr(owner, part)
        except (ImportError, AttributeError, NotImplementedError):
            continue  # it does not exist here: who asks for it finds nothing either
        found.setdefault(id(owner), {}).setdefault(name.member, name)
    return found


def finding_of(owner: Any, member: str | None = None) -> Finding:
    """Return the finding for an object of the package, or for a member of its class.

    Raises:
        MissingNameError: the class has no such member, but PyFlink's has one.
    """
    if is_unsupported(owner):
        return Finding(owner, UNSUPPORTED, reason_of(owner))
    for kind in inspect.getmro(owner) if isinstance(owner, type) else (owner,):
        name = members().get(id(kind), {}).get(member)
        if name is not None:
            return finding_for_program(name)
    found = owner if member is None else inspect.getattr_static(owner, member, None)
    if is_unsupported(found):
        return Finding(found, UNSUPPORTED, reason_of(found))
    return Finding(found, WORKS)


def finding_for_program(name: Name) -> Finding:
    """Find a name as ``find`` does; names of DIFFERENCES that do not exist here do not work."""
    finding = find(name)
    if finding.status == DIFFERS:
        try:
            find_in_package(name)
        except MissingNameError:
            return Finding(None, UNSUPPORTED, finding.reason)
    return finding
