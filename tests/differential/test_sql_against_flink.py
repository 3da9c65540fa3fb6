"""The corpus of SQL on Headrace's local runner, against what Flink SQL answered.

Cases that still differ are named in ``sql/open.txt``; ``run_corpus --write-open`` writes it anew.
"""

from __future__ import annotations

import pytest

from tests.differential.sql.cases import areas
from tests.differential.sql.run_corpus import check, chosen_cases, name_of, open_cases

pytestmark = pytest.mark.differential


@pytest.mark.parametrize("area", areas())
def test_area(area: str) -> None:
    still_open = open_cases()
    differ = {}
    for case, mode in chosen_cases([f"{area}/"], None):
        name = name_of(case, mode)
        if name not in still_open:
            found = check(case, mode, "local")
            if found:
                differ[name] = found
    assert differ == {}


def test_open_cases_exist() -> None:
    assert open_cases() <= {name_of(*each) for each in chosen_cases([], None)}
