"""Names that PyFlink's modules import from each other are there in the same modules here."""

from __future__ import annotations

from importlib import import_module

import pytest

from headrace.common._lazy_exports import _HOMES, lazy_exports


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


@pytest.mark.parametrize("module", _HOMES)
def test_all_names_of_a_module_are_there(module: str) -> None:
    asked = import_module(f"headrace.{module}")
    for home, names in _HOMES[module].items():
        defined = import_module(f"headrace.{home}")
        for name in names.split():
            assert getattr(asked, name) is getattr(defined, name)


def test_another_name_is_missing() -> None:
    with pytest.raises(AttributeError, match=r"module 'headrace.common' has no attribute 'Metric'"):
        lazy_exports("headrace.common")("Metric")
