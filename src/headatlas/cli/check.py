"""The command `check`: whether every file of an atlas is as it was written."""

from __future__ import annotations

import typer

from headatlas.cli.base import AtlasPath, app, open_atlas
from headatlas.errors import StoreError, one_line


@app.command(epilog="[bold]Example[/bold]\n\n    headatlas check sample.atlas")
def check(path: AtlasPath) -> None:
    """Check every array, table and file of an atlas, and say which command repairs what is damaged."""
    from headatlas.atlas.check import damage

    total, damaged = damage(open_atlas(path))
    for item in damaged:
        typer.echo(one_line(str(item)))
    if damaged:
        files = "1 file is damaged" if len(damaged) == 1 else f"{len(damaged):,} files are damaged"
        raise StoreError(f"{path}: {files}; what to run is printed with each")
    typer.echo(f"{path}: all {total:,} files are as they were written")
