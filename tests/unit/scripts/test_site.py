"""What the site gets from code: its navigation, its version, the repository's address."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from mkdocs.config import load_config

import headrace
from scripts import site

ROOT = site.ROOT


def origin(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    def answer(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 0, stdout=f"{address}\n")

    monkeypatch.delenv(site.REPOSITORY_VARIABLE, raising=False)
    monkeypatch.setattr(shutil, "which", lambda _: "git")
    monkeypatch.setattr(subprocess, "run", answer)


def test_the_repository_is_the_one_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    origin(monkeypatch, "https://code.example/other.git")
    monkeypatch.setenv(site.REPOSITORY_VARIABLE, "https://code.example/headrace")
    assert site.repository() == "https://code.example/headrace"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://code.example/headrace.git", "https://code.example/headrace"),
        ("https://me:secret@code.example/headrace", "https://code.example/headrace"),
        ("me@code.example:headrace.git", ROOT.as_uri()),
        ("", ROOT.as_uri()),
    ],
)
def test_the_repository_is_where_the_clone_came_from(
    monkeypatch: pytest.MonkeyPatch, address: str, shown: str
) -> None:
    origin(monkeypatch, address)
    assert site.repository() == shown


def test_a_pattern_becomes_its_pages() -> None:
    nav = [{"Start": "index.md"}, {"Metrics": ["reference/metrics/*.md"]}]
    assert site.expanded(nav) == [
        {"Start": "index.md"},
        {
            "Metrics": [
                {"metrics": "reference/metrics/index.md"},
                {"metricbase": "reference/metrics/metricbase.md"},
            ]
        },
    ]


def test_the_site_has_its_addresses_and_its_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HEADRACE_SITE_URL", "https://site.example/headrace/")
    monkeypatch.setenv(site.REPOSITORY_VARIABLE, "https://code.example/headrace")
    config = site.on_config(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path)))
    assert config.site_url == "https://site.example/headrace/"
    assert config.repo_url == "https://code.example/headrace"
    assert config.copyright == f"Headrace {site.version()}"
    assert headrace.__version__ in (site.version(), "0.0.0")


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "CHANGELOG.md"])
def test_the_links_of_pages_beside_docs_lead_to_pages(name: str) -> None:
    text = site.page_beside_docs(name)
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert links
    assert [link for link in links if not (site.DOCS / link).exists()] == []


def test_without_git_the_repository_is_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    origin(monkeypatch, "https://code.example/headrace")
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert site.repository() == ROOT.as_uri()
