"""What mkdocs.yml leaves to code: pages by pattern and from outside ``docs``, version, repository.

mkdocs calls these functions while it builds the site (``hooks`` in mkdocs.yml).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
REPOSITORY_VARIABLE = "HEADRACE_REPOSITORY_URL"
"""Names the address that the site's repository link leads to."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill in the navigation, the version and the repository's address."""
    config.nav = expanded(config.nav)
    config.copyright = f"Headrace {version()}"
    config.repo_url = repository()
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie beside ``docs``."""
    for name in ("CONTRIBUTING.md", "CHANGELOG.md"):
        files.append(File.generated(config, name.lower(), content=page_beside_docs(name)))
    return files


def page_beside_docs(name: str) -> str:
    """The text of a page beside ``docs``, with links as they are within."""
    return (ROOT / name).read_text("utf-8").replace("](docs/", "](")


def expanded(nav: Any) -> Any:
    """The navigation with every pattern, such as ``adr/*.md``, replaced by its pages by name.

    A folder's ``index.md`` is the first of them.
    """
    if isinstance(nav, dict):
        return {title: expanded(part) for title, part in nav.items()}
    if not isinstance(nav, list):
        return nav
    found: list[Any] = []
    for part in nav:
        if isinstance(part, str) and "*" in part:
            pages = sorted(DOCS.glob(part), key=lambda page: (page.stem != "index", page.name))
            found += [{_title(page): str(page.relative_to(DOCS))} for page in pages]
        else:
            found.append(expanded(part))
    return found


def _title(page: Path) -> str:
    """The page's heading; of a module's page the module's own name, without its packages."""
    heading = page.read_text("utf-8").partition("\n")[0].removeprefix("# ")
    return heading.rpartition(".")[2] if heading.startswith("headrace.") else heading


def version() -> str:
    """The package's version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return str(project["version"])


def repository() -> str:
    """The address in HEADRACE_REPOSITORY_URL; else where the clone came from, or the clone."""
    given = os.environ.get(REPOSITORY_VARIABLE)
    if given:
        return given
    if shutil.which("git") is None:
        return ROOT.as_uri()
    asked = subprocess.run(
        ["git", "config", "remote.origin.url"], cwd=ROOT, capture_output=True, text=True
    )
    origin = urlsplit(asked.stdout.strip())
    if origin.scheme not in ("http", "https"):
        return ROOT.as_uri()
    return origin._replace(netloc=origin.netloc.rpartition("@")[2]).geturl().removesuffix(".git")
