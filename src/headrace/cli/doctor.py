"""``headrace doctor``: what is installed on this machine, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from headrace.cli.findings import Finding

_MARKS = {"ok": "[green]ok[/]", "note": "[yellow]--[/]", "missing": "[bold red]no[/]"}


def doctor() -> None:
    """Print what this machine has (Python, Java, Spark, memory); exit with 1 if no job can run."""
    from rich.console import Console

    from headrace.cli.findings import collect

    console = Console(highlight=False, soft_wrap=True)
    findings = collect()
    print_findings(console, findings)
    if any(finding.state == "missing" for finding in findings):
        raise typer.Exit(1)


def print_findings(console: Console, findings: list[Finding]) -> None:
    """Print one line per finding, advice below it, and the verdict."""
    width = max(len(finding.component) for finding in findings)
    for finding in findings:
        console.print(f"{_MARKS[finding.state]}  {finding.component:<{width}}  ", end="")
        # Text from the machine is printed without markup: a path may contain brackets.
        console.print(finding.text, markup=False)
        if finding.advice:
            console.print(f"    {'':<{width}}  -> {finding.advice}", markup=False)
    missing = [finding.component for finding in findings if finding.state == "missing"]
    verdict = f"A job cannot run here: {', '.join(missing)}." if missing else "Ready."
    console.print(f"\n{verdict}", markup=False)
