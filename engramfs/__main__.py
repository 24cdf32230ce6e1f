"""`python -m engramfs`."""

from engramfs.cli import main

main()
