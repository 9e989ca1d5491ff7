"""AppSync's JavaScript is less than JavaScript: its own linter says what would fail there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cdk.templates import ROOT
from tests.prerequisites import LINTER

MODULES = ROOT / ".tools/node_modules"
RESOLVERS = sorted((ROOT / "cdk/appsync").glob("*.js"))

pytestmark = LINTER.mark


def linted(*arguments: str | Path, source: str | None = None) -> subprocess.CompletedProcess[str]:
    eslint = [MODULES / "node/bin/node", MODULES / "eslint/bin/eslint.js"]
    command = [*eslint, "--config", ROOT / "tools/eslint.config.mjs", "--max-warnings", "0", *arguments]
    return subprocess.run(command, cwd=ROOT, input=source, capture_output=True, text=True, timeout=120, check=False)


def test_the_resolvers_keep_to_what_appsync_runs() -> None:
    assert RESOLVERS
    found = linted(*RESOLVERS)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("for (let i = 0; i < 3; i += 1) {}", "@aws-appsync/no-for"),
        ("try { ctx.stash.a = 1; } catch { ctx.stash.b = 1; }", "@aws-appsync/no-try"),
        ("while (ctx.args.more) {}", "@aws-appsync/no-while"),
        ("throw new Error('no');", "no-restricted-syntax"),
        ("fetch(ctx.args.url);", "no-undef"),
    ],
)
def test_the_linter_refuses_what_appsync_does_not_run(line: str, rule: str) -> None:
    sample = f"export function request(ctx) {{\n  {line}\n  return {{ payload: null }};\n}}\n"
    found = linted("--stdin", "--stdin-filename", "sample.js", source=sample)
    assert found.returncode == 1
    assert rule in found.stdout
