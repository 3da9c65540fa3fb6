"""The file of recorded answers: written, read, and compared with those of now."""

from __future__ import annotations

import lzma
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from .answers import PROGRAMS, VARIANTS, Answer, Seed, answer_of
from .canonical import digest_of

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
ANSWERS = FOLDER / "answers.txt"
SAMPLE = FOLDER / "sample.txt.xz"

SAMPLED = 48
"""The fast tests run so many programs, each in one way; their whole text is kept."""

Digests = dict[str, tuple[str, str]]
"""By variant: of what is promised, and of all of it."""


@dataclass(frozen=True)
class Recording:
    """``commit``: of the engine that gave the answers. ``programs``: the digest of each text."""

    commit: str
    programs: Mapping[int, str]
    answers: Mapping[int, Digests]


def sampled(number: int) -> str:
    """In which way a program of the sample is run."""
    return VARIANTS[number % len(VARIANTS)]


def digests_of(number: int) -> tuple[str, Digests]:
    """The digest of a program, and those of its answers."""
    seed = Seed.of(number)
    found = {variant: answer_of(seed, variant).digests() for variant in VARIANTS}
    return digest_of(seed.text()), found


def all_digests(numbers: Sequence[int]) -> Iterator[tuple[int, tuple[str, Digests]]]:
    """The same of many programs, on every core."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        yield from zip(numbers, pool.map(digests_of, numbers, chunksize=10), strict=True)


def record(spark: Mapping[int, Digests], programs: int = PROGRAMS) -> None:
    """Run programs and write both files. ``spark``: the answers of some of them there."""
    head = f"{commit()} · Python {platform.python_version()} · numpy {np.__version__}"
    lines = [
        f"# The answers of the engine of commit {head}",
        "# seed, digest of the program, then for each way to run it: its name, the digest of what",
        "# is promised, and that of the whole answer. Written by: python -m tests.recorded record",
    ]
    for number, (program, found) in all_digests(range(programs)):
        if number % 100 == 0:
            print(f"program {number} of {programs}", flush=True)
        every = found | spark.get(number, {})
        answers = (f"{variant} {one} {other}" for variant, (one, other) in every.items())
        lines.append(" ".join([str(number), program, *answers]))
    ANSWERS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    texts = (answer_of(Seed.of(number), sampled(number)).exact for number in range(SAMPLED))
    SAMPLE.write_bytes(lzma.compress("\0".join(texts).encode(), preset=9))


def commit() -> str:
    """The commit that is checked out, marked where files differ from it."""
    named = [
        "git",
        "-C",
        str(ROOT),
        "describe",
        "--always",
        "--abbrev=12",
        "--dirty",
        "--exclude=*",
    ]
    return subprocess.run(named, capture_output=True, text=True, check=True).stdout.strip()


def recording() -> Recording:
    """What is recorded."""
    first, *lines = ANSWERS.read_text(encoding="utf-8").splitlines()
    programs: dict[int, str] = {}
    answers: dict[int, Digests] = {}
    for line in lines:
        if line.startswith("#"):
            continue
        number, program, *found = line.split()
        programs[int(number)] = program
        answers[int(number)] = {
            variant: (one, other)
            for variant, one, other in zip(found[::3], found[1::3], found[2::3], strict=True)
        }
    return Recording(first.split("commit ")[1].split()[0], programs, answers)


def sample() -> list[str]:
    """The whole answers of the sample."""
    return lzma.decompress(SAMPLE.read_bytes()).decode().split("\0")


def differences(numbers: Sequence[int]) -> Iterator[str]:
    """What differs from the recording, program by program, each as a text.

    Programs that are not recorded are left out.
    """
    known = recording()
    recorded = [number for number in numbers if number in known.programs]
    for number, (program, found) in all_digests(recorded):
        yield from compared(known, number, program, found)


def compared(
    known: Recording, number: int, program: str, found: Digests, promised_only: bool = False
) -> Iterator[str]:
    """What differs of one program."""
    if known.programs[number] != program:
        yield (
            f"seed {number}: the generator draws another program than it did at {known.commit}:"
            " record at that commit with this generator, and compare then"
        )
        return
    for variant, digests in found.items():
        before = known.answers[number].get(variant)
        if before is None:
            yield f"seed {number}, {variant}: nothing is recorded"
        elif before[0] != digests[0]:
            yield _difference(known, number, variant, "the answer differs")
        elif before[1] != digests[1] and not promised_only:
            what = "the answer differs in what is not promised: an order, or the form of a key"
            yield _difference(known, number, variant, what)


def _difference(known: Recording, number: int, variant: str, what: str) -> str:
    lines = [f"seed {number}, {variant}: {what}, from the one of commit {known.commit}"]
    if variant not in VARIANTS:
        return lines[0]
    seed = Seed.of(number)
    lines.append(seed.text())
    if number < SAMPLED and variant == sampled(number):
        lines.append(first_difference(sample()[number], answer_of(seed, variant).exact))
    else:
        lines.append(f"the line that differs: python -m tests.recorded diff {number} {variant}")
    return "\n".join(lines)


def first_difference(before: str, now: str) -> str:
    """The first line that differs, with the three lines before it."""
    earlier: list[str] = []
    for number, (one, other) in enumerate(
        zip_longest(before.splitlines(), now.splitlines(), fillvalue="(nothing)"), 1
    ):
        if one != other:
            shown = [*earlier[-3:], f"- {one}", f"+ {other}"]
            return "\n".join([f"line {number} (- recorded, + now):", *shown])
        earlier.append(f"  {one}")
    return "no line differs"


def answer_at(at: str, folder: Path, number: int, variant: str) -> str:
    """The whole answer that the engine of a commit gives, which is checked out into a folder."""
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), at], check=True)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tests.recorded", "show", str(number), variant, "--only-answer"],
            cwd=folder,
            env={"PYTHONPATH": f"{folder / 'src'}:{folder}"},
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)
    return done.stdout


def as_text(answers: Iterable[tuple[str, Answer]]) -> str:
    """Answers by variant, to be read."""
    return "\n".join(f"== {variant}\n{answer.exact}" for variant, answer in answers)


def of_spark() -> dict[int, Digests]:
    """What is recorded of Spark, by program; nothing where nothing is recorded yet."""
    if not ANSWERS.exists():
        return {}
    return {
        number: {name: found for name, found in answers.items() if name not in VARIANTS}
        for number, answers in recording().answers.items()
    }
