"""`python -m tessera`: the `tessera` command where no script is installed."""

from __future__ import annotations

from tessera.cli import main

main()
