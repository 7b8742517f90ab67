"""`python -m enginetour` is the command line."""

from enginetour.cli import main

main()
