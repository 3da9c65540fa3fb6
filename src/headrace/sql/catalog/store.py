"""The definitions of catalogs in a folder, for the sessions after this one."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from urllib.parse import quote, unquote

from headrace.errors import CatalogError
from headrace.sql.catalog.objects import CatalogDescription

_SUFFIX = ".yaml"
_COMMENT = "# COMMENT "
_OPTION = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^"'].*?): (.*)""")


class FileCatalogStore:
    """Stores the options of each catalog in a file ``<name>.yaml``, as Flink's store does.

    Files have a line ``key: value`` for each option; values that Headrace writes are in quotes. The
    comment of a catalog is in a line that Flink ignores.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder.removeprefix("file://"))
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CatalogError(f"the folder of catalogs cannot be made: {error}") from None

    def names(self) -> list[str]:
        """Return the names of the stored catalogs."""
        return sorted(unquote(each.stem) for each in self._folder.glob(f"*{_SUFFIX}"))

    def read(self, name: str) -> CatalogDescription:
        """Return the options and the comment of a catalog.

        Raises:
            CatalogError: the file cannot be read.
        """
        path = self._path(name)
        found = []
        comment = None
        lines = path.read_text("utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            is_comment = line.startswith(_COMMENT)
            if not line.strip() or (line.startswith("#") and not is_comment):
                continue
            try:
                if is_comment:
                    comment = _unquoted(line.removeprefix(_COMMENT))
                    continue
                option = _OPTION.fullmatch(line.strip())
                if option is None:
                    raise ValueError("a line is 'key: value'")
                found.append((_unquoted(option[1].strip()), _unquoted(option[2].strip())))
            except ValueError as error:
                problem = f"the definition of the catalog {name!r} cannot be read: line {number}"
                where = {"file": str(path)}
                raise CatalogError(f"{problem}: {error}", where=where) from None
        return CatalogDescription(tuple(found), comment)

    def put(self, name: str, catalog: CatalogDescription) -> None:
        """Store the options and the comment of a catalog."""
        path = self._path(name)
        made = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        comment = catalog.comment
        lines = [] if comment is None else [f"{_COMMENT}{json.dumps(comment)}"]
        lines += [f"{_quoted_key(key)}: {json.dumps(value)}" for key, value in catalog.options]
        made.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        made.replace(path)

    def remove(self, name: str) -> None:
        """Remove a catalog, if it is stored."""
        self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / (quote(name, safe=" ") + _SUFFIX)


def _quoted_key(key: str) -> str:
    return key if key.replace("-", "").replace(".", "").isalnum() else json.dumps(key)


def _unquoted(text: str) -> str:
    if text.startswith('"'):
        found = json.loads(text)
        if not isinstance(found, str):
            raise ValueError(f"{text} is not a text")
        return found
    if text.startswith("'") and text.endswith("'") and len(text) > 1:
        return text[1:-1].replace("''", "'")
    return text
