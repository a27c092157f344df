"""The command line. Results go to stdout, progress to stderr; each command imports the heavy parts it needs."""

from headatlas.cli import collecting, figures, serving, stages, tables, whole
from headatlas.cli.base import app

__all__ = ["app", "collecting", "figures", "main", "serving", "stages", "tables", "whole"]


def main() -> None:
    """Run the command line."""
    app()
