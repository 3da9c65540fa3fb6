"""Which tests ``make affected`` takes for a change."""

from __future__ import annotations

from pathlib import Path

import grimp
import pytest

from tests.affected import affected, import_graph, module_of


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return import_graph()


def test_modules_by_their_paths() -> None:
    assert module_of(Path("src/headrace/common/time.py")) == "headrace.common.time"
    assert module_of(Path("src/headrace/testing/__init__.pyi")) == "headrace.testing"
    assert module_of(Path("tests/affected.py")) == "tests.affected"
    assert module_of(Path("docs/index.md")) is None and module_of(Path("examples/a.py")) is None


def test_a_connector_breaks_its_own_tests_first(graph: grimp.ImportGraph) -> None:
    found = affected([Path("src/headrace/datastream/connectors/redis.py")], graph)
    assert "tests/databases/test_redis.py" in found
    assert "tests/unit/operators/test_reduce.py" not in found


def test_an_operator_breaks_what_uses_it_through_the_api(graph: grimp.ImportGraph) -> None:
    """The API's lazy packages name their modules in stubs."""
    found = affected([Path("src/headrace/operators/joins/base.py")], graph)
    assert "tests/capabilities/test_capabilities.py" in found


def test_a_page_breaks_the_tests_that_name_it(graph: grimp.ImportGraph) -> None:
    found = affected([Path("README.md")], graph)
    assert "tests/unit/docs/test_snippets.py" in found and len(found) < 20
