"""What the pages of SQL show runs, and prints what they say.

    <!-- run sql -->
    ```sql
    SELECT 1 AS a;
    ```

    ```text
    …
    ```

The blocks of one page run in order, in one session. A block of text right after one holds what it
prints, to the letter.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from headrace.cli.sql.shell import SqlShell
from headrace.common import Configuration
from headrace.sql.dialect.splitting import pieces_of
from headrace.table import TableEnvironment

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(
    r"^<!-- run sql -->\n```sql\n(?P<sql>.*?)^```$(?:\n\n```text\n(?P<prints>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if BLOCK.search(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    env = TableEnvironment.create(Configuration.from_dict({"execution.target": "local"}))
    env._session.settings.fixed_mode = False
    text = page.read_text("utf-8")
    blocks = [*BLOCK.finditer(text)]
    assert len(blocks) == text.count("<!-- run sql -->")
    for block in blocks:
        out, err = io.StringIO(), io.StringIO()
        shell = SqlShell(env, Console(file=out, soft_wrap=True), Console(file=err))
        assert shell.run_all(pieces_of(block["sql"])), err.getvalue()
        assert out.getvalue() == (block["prints"] or ""), f"{page.name}: {block['sql'][:60]}"


def test_there_are_pages() -> None:
    assert PAGES
