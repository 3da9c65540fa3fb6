"""``DataTypes`` where the DataStream API takes a type, as in the schemas of files."""

from __future__ import annotations

from typing import Any

from headrace.common._types.other_forms import as_arrow_schema, as_type_information
from headrace.common.typeinfo import TypeInformation
from headrace.table._types.arrow import create_arrow_schema
from headrace.table._types.data_types import DataType
from headrace.table._types.rows import RowType
from headrace.table._types.sql import to_sql
from headrace.table._types.type_info import type_info_of


@as_type_information.register
def _type_information(given: DataType) -> TypeInformation:
    return type_info_of(to_sql(given))


@as_arrow_schema.register
def _arrow_schema(given: RowType) -> Any:
    return create_arrow_schema(given.names, [field.data_type for field in given.fields])
