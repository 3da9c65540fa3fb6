"""The runnable code blocks of the documentation.

    <!-- run -->
    ```python
    print(1)
    ```

    <!-- prints -->
    ```text
    1
    ```

The blocks of one page that stand behind ``run`` are run in order, in one namespace, as a program
would be. A block behind ``prints`` holds what the block before it prints, to the letter; behind
``prints in any order``, line by line in any order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"^<!-- (?P<mark>run|prints|prints in any order) -->\n+"
    r"```(?P<language>\w+)[^\n]*\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_MARK = re.compile(r"^<!-- (?:run|prints|prints in any order) -->$", re.MULTILINE)


@dataclass(frozen=True)
class Snippet:
    """A block of code: ``line`` is that of its first line; ``prints`` None is not looked at."""

    page: Path
    line: int
    code: str
    prints: str | None = None
    ordered: bool = True

    def compiled(self) -> object:
        """The code, which tracebacks and errors place in the page."""
        return compile("\n" * (self.line - 1) + self.code, str(self.page), "exec")


def snippets(page: Path) -> list[Snippet]:
    """The runnable blocks of a page.

    Raises:
        ValueError: a mark stands before something else than its block.
    """
    text = page.read_text("utf-8")
    found = list(_read(page, text))
    if len(_MARK.findall(text)) != len(list(_BLOCK.finditer(text))):
        raise ValueError(f"{page.name}: a mark without its block")
    return found


def _read(page: Path, text: str) -> Iterator[Snippet]:
    waiting: Snippet | None = None
    for match in _BLOCK.finditer(text):
        mark, language, body = match["mark"], match["language"], match["body"]
        if language != ("python" if mark == "run" else "text"):
            raise ValueError(f"{page.name}: {language} behind {mark}")
        if mark == "run":
            if waiting is not None:
                yield waiting
            line = text.count("\n", 0, match.start("body")) + 1
            waiting = Snippet(page, line, body)
        elif waiting is None:
            raise ValueError(f"{page.name}: prints without a block to run before it")
        else:
            yield Snippet(page, waiting.line, waiting.code, body, mark == "prints")
            waiting = None
    if waiting is not None:
        yield waiting
