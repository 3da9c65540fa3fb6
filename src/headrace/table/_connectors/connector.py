"""The interface of table connectors: what they get, and what they return."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NoReturn

from headrace.common.changelog_mode import ChangelogMode
from headrace.connector import Sink, Source
from headrace.errors import SqlValidationError
from headrace.operators.columns.calc import BatchFunction
from headrace.sql.expressions import Expression
from headrace.sql.rel import Columns, chosen_columns


@dataclass(frozen=True)
class MetadataField:
    """A metadata column of a table, and its key in the connector's metadata."""

    name: str
    key: str


@dataclass(frozen=True)
class TableRequest:
    """A table that a statement reads or writes.

    ``columns``: those that the connector has: physical ones, and after them those of ``metadata``.
    ``options``: all of WITH and of hints, but ``connector``. ``batch``: whether the job is one.
    ``overwrite``: whether it is written by INSERT OVERWRITE. ``projection``: the names of the
    columns that the statements of the job read; None: all. ``files_where``: over
    ``TableSource.columns_of_files``: files whose rows do not meet it need not be read.
    """

    name: str
    columns: Columns
    options: Mapping[str, str]
    metadata: tuple[MetadataField, ...] = ()
    primary_key: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()
    batch: bool = False
    time_zone: str = "UTC"
    overwrite: bool = False
    projection: tuple[str, ...] | None = None
    files_where: Expression | None = None

    @property
    def projected(self) -> Columns:
        """The columns that a source gives if it ``projects``."""
        return chosen_columns(self.columns, self.projection)


@dataclass(frozen=True)
class TableSource:
    """A source of rows (``Row`` with named fields, in the order of the columns).

    Its reader should have columns, with the shape ``NamedRows`` and the Arrow types of
    ``headrace.sql.types.to_arrow``. ``conversion``: converts other columns to them.
    ``with_dictionaries``: the same source, with columns of texts that may be dictionary-encoded.
    ``projects``: whether it gives only ``TableRequest.projected``; otherwise all columns.
    ``columns_of_files``: the columns with the same value in all rows of a file.
    """

    source: Source
    mode: ChangelogMode = field(default_factory=ChangelogMode.insert_only)
    conversion: BatchFunction | None = None
    with_dictionaries: Source | None = None
    projects: bool = False
    columns_of_files: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TableSink:
    """A sink of such rows. ``sink.accepts`` says which kinds it takes."""

    sink: Sink


class Connector(ABC):
    """A connector, by the name in ``'connector' = '...'``.

    ``overwrites``: whether its tables take INSERT OVERWRITE. ``writes_metadata``: whether it
    writes columns of metadata, which are not VIRTUAL.
    """

    identifier: ClassVar[str]
    overwrites: ClassVar[bool] = False
    writes_metadata: ClassVar[bool] = False

    @abstractmethod
    def source(self, request: TableRequest) -> TableSource:
        """Return the source of a table.

        Raises:
            SqlValidationError: an option is unknown, missing or wrong; or it only writes.
        """

    @abstractmethod
    def sink(self, request: TableRequest) -> TableSink:
        """Return the sink of a table; ``source`` has the errors."""


def refuse_watermark_options(request: TableRequest) -> None:
    """Raise the error for options of watermarks, where a connector makes none itself."""
    found = [key for key in request.options if key.startswith("scan.watermark.")]
    if found:
        raise SqlValidationError(
            f"table {request.name!r} has an unknown option {found[0]!r}",
            where={"table": request.name, "option": found[0]},
        )


def refuse_to_read(request: TableRequest, connector: str) -> NoReturn:
    """Raise the error for a table that is read, but can only be written."""
    raise SqlValidationError(
        f"table {request.name!r} cannot be read: its connector {connector!r} only writes",
        where={"table": request.name, "connector": connector},
    )


def refuse_to_write(request: TableRequest, connector: str) -> NoReturn:
    """Raise the error for a table that is written, but can only be read."""
    raise SqlValidationError(
        f"table {request.name!r} cannot be written: its connector {connector!r} only reads",
        where={"table": request.name, "connector": connector},
    )
