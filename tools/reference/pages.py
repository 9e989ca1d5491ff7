"""The generated files below docs/, and their sources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from inference.models.card.file import make_schema
from tools.reference import api, card, cli, formats, names, settings, versions

DOCS = Path(__file__).resolve().parents[2] / "docs"


def generate_files() -> Mapping[str, str]:
    """Return the text of each generated file by its path below docs/."""
    pages = {
        "api": api,
        "card": card,
        "cli": cli,
        "formats": formats,
        "names": names,
        "settings": settings,
        "versions": versions,
    }
    return {
        "card.schema.json": json.dumps(make_schema(), indent=2, ensure_ascii=False) + "\n",
        **{f"reference/{name}.md": module.build_page() for name, module in pages.items()},
    }
