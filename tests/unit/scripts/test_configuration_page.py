"""docs/configuration.md says what headrace.common._options.catalogue says."""

from __future__ import annotations

from headrace.common._options import catalogue as options
from scripts import configuration_page


def test_the_page_is_in_step() -> None:
    assert configuration_page.main(["--check"]) == 0


def test_every_key_and_family_is_on_the_page() -> None:
    text = configuration_page.page()
    missing = [key for key in (*options.OPTIONS, *options.PREFIXES) if f"`{key}" not in text]
    assert missing == [key for key in missing if key in fallbacks_without_effect()]


def fallbacks_without_effect() -> set[str]:
    """Older names of keys that have no effect: only the newest name is shown."""
    return {
        key
        for option in options.OPTIONS.values()
        if not option.has_effect
        for key in option.fallback_keys
    }
