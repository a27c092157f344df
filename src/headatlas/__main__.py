"""`python -m headatlas` is the command `headatlas`."""

from headatlas.cli import main

main()
