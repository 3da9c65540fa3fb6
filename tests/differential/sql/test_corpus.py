"""The corpus itself: its files are read, its goldens are whole, and its comparison compares."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.differential.sql import compare
from tests.differential.sql.cases import GOLDENS, MODES, areas, cases, every_case, split, tables
from tests.differential.sql.compare import differences, fold

pytestmark = pytest.mark.differential


def answer(*rows: list[Any], columns: Any = (("k", "STRING"), ("n", "BIGINT"))) -> dict[str, Any]:
    return {"columns": [list(each) for each in columns], "rows": list(rows)}


def one() -> dict[str, Any]:
    return answer(["+I", "a", 1], ["+I", "b", 1], ["-U", "a", 1], ["+U", "a", 2])


def keys_swapped() -> dict[str, Any]:
    return answer(["+I", "b", 1], ["+I", "a", 1], ["-U", "a", 1], ["+U", "a", 2])


@pytest.mark.parametrize("order", ["exact", "bag", "by k", "folded"])
def test_equal_answers(order: str) -> None:
    assert differences(one(), one(), order) == []


@pytest.mark.parametrize(("order", "equal"), [("exact", 0), ("bag", 1), ("by k", 1), ("folded", 1)])
def test_order_between_keys(order: str, equal: bool) -> None:
    assert (differences(one(), keys_swapped(), order) == []) == equal


@pytest.mark.parametrize(("order", "equal"), [("exact", 0), ("bag", 0), ("by k", 0), ("folded", 1)])
def test_updates_told_or_not(order: str, equal: bool) -> None:
    short = answer(["+I", "b", 1], ["+I", "a", 2])
    assert (differences(one(), short, order) == []) == equal


def test_bag_does_not_look_at_order_within_a_key() -> None:
    turned = answer(["+I", "b", 1], ["-U", "a", 1], ["+U", "a", 2], ["+I", "a", 1])
    assert differences(one(), turned, "bag") == []
    assert differences(one(), turned, "by k")


def test_kind_counts() -> None:
    assert differences(answer(["+I", "a", 1]), answer(["+U", "a", 1]), "bag")


def test_types_of_values_count() -> None:
    assert differences(answer(["+I", "a", 1]), answer(["+I", "a", {"float": "1.0"}]))


def test_names_and_types_count() -> None:
    typed = answer(columns=(("k", "STRING"), ("n", "BIGINT NOT NULL")))
    found = differences(answer(), typed)
    assert found == ["column 2 is n BIGINT NOT NULL, not n BIGINT"]
    assert differences(answer(), answer(columns=(("k", "STRING"),)))


def test_missing_and_superfluous_rows_are_shown() -> None:
    assert "missing" in differences(one(), answer(*one()["rows"][:3]))[0]
    assert "too many" in differences(answer(*one()["rows"][:3]), one())[0]


def test_refusals() -> None:
    refused = {"refused": {"when": "plan", "causes": [["a.b.C", "no"]]}}
    assert differences(refused, {"refused": {"when": "plan"}}) == []
    assert differences(refused, {"refused": {"when": "run"}}) == [
        "refused in run, by Flink in plan"
    ]
    assert differences(refused, one()) == ["not refused; Flink says C: no"]
    assert differences(one(), refused)


def test_fold() -> None:
    assert fold(one()["rows"]) == {'["a",2]': 1, '["b",1]': 1}
    with pytest.raises(ValueError, match="not there"):
        fold([["-U", "a", 1]])


def test_a_row_that_was_never_there_is_a_difference() -> None:
    assert differences(one(), answer(["-D", "a", 1]), "folded")


def test_unknown_order() -> None:
    with pytest.raises(ValueError, match="unknown order"):
        differences(one(), one(), "sorted")


def test_statements_are_cut_at_line_ends() -> None:
    text = "SELECT ';' AS x;\n\nEXECUTE STATEMENT SET BEGIN\nINSERT 1;\nINSERT 2;\nEND;\nSELECT 2;"
    assert [each.split()[0] for each in split(text.splitlines())] == ["SELECT", "EXECUTE", "SELECT"]
    with pytest.raises(ValueError, match="no semicolon"):
        split(["SELECT 1"])


def test_tables_have_rows() -> None:
    assert {"orders", "clicks", "changes"} <= set(tables())


def test_enough_cases() -> None:
    assert len(list(every_case())) >= 300


@pytest.mark.parametrize("area", areas())
def test_goldens_are_whole(area: str) -> None:
    recorded = json.loads((GOLDENS / f"{area}.json").read_text(encoding="utf-8"))
    of_cases = [(case.name, mode) for case in cases(area) for mode in case.modes]
    assert [(each["case"], each["mode"]) for each in recorded] == of_cases


@pytest.mark.parametrize("area", areas())
def test_goldens_agree_with_themselves(area: str) -> None:
    """Orders name columns that exist, and what is folded can be folded."""
    by_name = {case.name: case for case in cases(area)}
    for golden in json.loads((GOLDENS / f"{area}.json").read_text(encoding="utf-8")):
        order = by_name[golden["case"]].order(golden["mode"])
        found = differences(golden, golden, order)
        assert found == [], golden["case"]


def test_shown_differences_are_few() -> None:
    many = answer(*(["+I", "a", each] for each in range(50)))
    assert len(differences(many, answer(), "bag")) == compare.SHOWN


# Where a stream's answer is not the batch's: rows are late, or a global aggregate has no rows.
OWN_WAYS = {
    "ddl/watermark_is_time_itself",
    "ddl/watermark_may_be_null",
    "group_by/no_group_all_filtered",
    "group_by/no_group_empty_input",
    "group_windows/hop_late",
    "group_windows/tumble_late",
    "time_attributes/group_window_of_latest_time",
    "windows/cumulate_late",
    "windows/hop_late",
    "windows/hop_late_by_key",
    "windows/tumble_late",
}


def test_streams_add_up_to_the_batch() -> None:
    """Flink agrees with itself, which speaks for the cases: what is told adds up to the answer."""
    differ = set()
    for area in areas():
        recorded = json.loads((GOLDENS / f"{area}.json").read_text(encoding="utf-8"))
        rows = {(each["case"], each["mode"]): each.get("rows") for each in recorded}
        for case in cases(area):
            told, answered = (rows.get((case.name, mode)) for mode in MODES)
            describes = case.statements[-1].startswith("DESCRIBE")
            if told is None or answered is None or describes:
                continue
            if fold(told) != fold(answered):
                differ.add(f"{area}/{case.name}")
    assert differ == OWN_WAYS
