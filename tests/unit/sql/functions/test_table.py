from __future__ import annotations

from headrace.sql.functions.table import ELSEWHERE, FUNCTIONS, REFUSED, names


def test_the_table_has_most_of_flinks_functions() -> None:
    assert len(FUNCTIONS) >= 150
    assert names() == tuple(sorted(FUNCTIONS))


def test_a_name_is_in_one_place() -> None:
    assert not set(FUNCTIONS) & set(REFUSED)
    assert not set(FUNCTIONS) & set(ELSEWHERE)


def test_each_row_is_documented() -> None:
    for name, function in FUNCTIONS.items():
        assert function.name == name
        assert function.forms, name
        assert function.about.endswith("."), name


def test_each_row_has_an_example() -> None:
    without = {"CURRENT_TIMESTAMP", "CURRENT_ROW_TIMESTAMP", "PROCTIME", "LOCALTIMESTAMP"}
    without |= {"CURRENT_DATE", "CURRENT_TIME", "CURRENT_WATERMARK", "LOCALTIME"}
    without |= {"RAND", "RAND_INTEGER", "UUID", "FIELD", "KEY OF"}
    assert {name for name, each in FUNCTIONS.items() if not each.examples} == without
