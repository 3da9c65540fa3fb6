"""Types without rounding of FLOAT, for values that do not leave the process."""

from __future__ import annotations

import copy
from typing import Any

from headrace.common._types.basic import BasicType, BasicTypeInfo, UnroundedFloatTypeInfo
from headrace.common._types.information import TypeInformation


def unrounded(type_info: TypeInformation) -> TypeInformation:
    """Return the type with every FLOAT in it, at any depth, replaced by one that does not round."""
    if isinstance(type_info, BasicTypeInfo):
        is_float = type_info._basic_type is BasicType.FLOAT
        return UnroundedFloatTypeInfo() if is_float else type_info
    result = copy.copy(type_info)
    for name, part in vars(type_info).items():
        setattr(result, name, _unrounded_part(part))
    return result


def _unrounded_part(part: Any) -> Any:
    if isinstance(part, TypeInformation):
        return unrounded(part)
    if isinstance(part, tuple | list):
        return type(part)(map(_unrounded_part, part))
    return part
