"""``ChangelogMode``: the row kinds of a table."""

from headrace.common.changelog_mode import ChangelogMode

__all__ = ["ChangelogMode"]
