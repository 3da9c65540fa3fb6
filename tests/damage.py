"""Files of a checkpoint that are removed, cut short and flipped."""

from __future__ import annotations

from pathlib import Path

REFUSED, NOT_NEEDED = True, False
BOTH = {"cut": REFUSED, "flipped": REFUSED}
ALL = {"removed": REFUSED, **BOTH}

# A pattern of files, which of them (the newest is -1), and what each kind of damage must come to.
Kind = tuple[str, int, dict[str, bool]]


def cases(kinds: list[Kind]) -> list[tuple[str, int, str, bool]]:
    """Pattern, which file of it, how it is damaged, and whether the job must be refused."""
    return [
        (pattern, which, how, refused)
        for pattern, which, hows in kinds
        for how, refused in hows.items()
    ]


def damage(file: Path, how: str) -> None:
    """Remove a file, cut it in half or change four bytes in its middle."""
    data = file.read_bytes()
    middle = len(data) // 2
    if how == "removed":
        file.unlink()
    elif how == "cut":
        file.write_bytes(data[:middle])
    else:
        changed = bytes(byte ^ 0x55 for byte in data[middle : middle + 4])
        file.write_bytes(data[:middle] + changed + data[middle + 4 :])


def names_of(file: Path) -> set[str]:
    """A file, and the one that it is a checksum of."""
    described = file.name.removeprefix(".").removesuffix(".crc")
    return {str(file), str(file.with_name(described))}
