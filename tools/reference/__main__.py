"""`make reference`: it rewrites the generated files below docs/."""

from __future__ import annotations

from tools.reference.pages import DOCS, generate_files

for name, text in generate_files().items():
    (DOCS / name).write_text(text)
