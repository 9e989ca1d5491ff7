"""docs/how-to/emulated.md holds the table that a run prints."""

from __future__ import annotations

from pathlib import Path

from cdk.emulated.rewriting import REWRITTEN
from cdk.emulated.table import DROPPED, DROPPED_SOME

DOCUMENT = Path(__file__).parents[2] / "docs/how-to/emulated.md"


def lines() -> list[str]:
    some = {f"{type} {one.which}": one.rule for type, one in DROPPED_SOME.items()}
    return [
        *(
            f"| `{type}` | {'replaced' if rule.instead else 'dropped'} | {rule.instead or ''} | {rule.why} |"
            for type, rule in sorted({**DROPPED, **some}.items())
        ),
        *(f"| `{type}` | rewritten | {rule.what} | {rule.why} |" for type, rule in sorted(REWRITTEN.items())),
    ]


def test_the_document_holds_the_table():
    written = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| `")]
    assert written == lines()
