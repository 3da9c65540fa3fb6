"""``headrace package``: makes an archive of a program and its dependencies, for a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

FOLDER = "environment"

Names = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="PACKAGE",
        help="An installed package that the program imports, although no `import` names it.",
    ),
]
LeftOut = Annotated[
    list[str] | None,
    typer.Option("--without", metavar="PACKAGE", help="A package that the executors have."),
]


def package(
    program: Annotated[Path, typer.Argument(help="A Python file.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The archive, a .tar.gz file.")
    ],
    added: Names = None,
    left_out: LeftOut = None,
) -> None:
    """Make an archive of PROGRAM, its modules, Headrace, and the packages that they import.

    The machines of the cluster need Spark, and Python in the same minor version. The command that
    runs the archive is printed.
    """
    from headrace.runners.dependencies.environment import LAUNCHER, PROGRAM, make_environment

    if not output.name.endswith((".tar.gz", ".tgz")):
        raise typer.BadParameter(
            "the name must end in .tar.gz or .tgz, by which Spark recognizes an archive"
        )
    content = make_environment(program, output, added or (), left_out or ())
    size_mb = max(1, output.stat().st_size >> 20)
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    modules = ", ".join(path.name for path in content.modules)
    typer.echo(f"{output} ({size_mb} MB) has {modules} and {len(content.packages)} packages:")
    typer.echo(", ".join(f"{name} {number}" for name, number in content.packages.items()))
    typer.echo(
        f"\nThe machines of the cluster need Spark and Python {version}. To run it:\n\n"
        f"    mkdir -p {FOLDER} && tar -xzf {output} -C {FOLDER}\n"
        f"    spark-submit --master URL --archives {output}#{FOLDER} \\\n"
        f"        --conf spark.pyspark.python=./{FOLDER}/{LAUNCHER} \\\n"
        f"        {FOLDER}/{PROGRAM}/{program.name}"
    )
