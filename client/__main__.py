"""`python -m client`: the `tessera` command where no script is installed."""

from __future__ import annotations

from client.cli import main

main()
