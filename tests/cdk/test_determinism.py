"""What is deployed depends on the code alone: not on the folder, the hour, the process, or a word in the README."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cdk.templates import ROOT

CONTEXT = {"environment": "prod", "aws:cdk:bundling-stacks": []}


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Templates, and hashes of the assets, of three copies of the working tree, by file name."""
    roots = {name: _copied(tmp_path_factory.mktemp(name)) for name in ("untouched", "documented", "recoded")}
    for document in ("README.md", "docs/explanation/flow.md", "CHANGELOG.md"):
        _append(roots["documented"] / document, "\nOne more word.\n")
    _append(roots["recoded"] / "lambdas/api.py", "\n# One more word.\n")
    with ThreadPoolExecutor(max_workers=2) as pool:
        return dict(zip(roots, pool.map(_synthesized, roots.values()), strict=True))


def test_two_synths_of_the_same_code_are_alike_to_the_byte(copies: dict[str, dict[str, str]]) -> None:
    assert len(copies["untouched"]) == 18, "nine stacks have a template and a manifest each"
    assert _different(copies["documented"], copies["untouched"]) == set()


def test_a_change_of_code_changes_the_templates(copies: dict[str, dict[str, str]]) -> None:
    changed = _different(copies["recoded"], copies["untouched"])
    assert "tessera-prod-auth.template.json" in changed
    assert "tessera-prod-network.template.json" not in changed


def _copied(root: Path) -> Path:
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():  # and not deleted, nor a link to a folder
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
    return root


def _different(some: dict[str, str], others: dict[str, str]) -> set[str]:
    return {name for name in some.keys() | others.keys() if some.get(name) != others.get(name)}


def _append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def _synthesized(root: Path) -> dict[str, str]:
    out = root / "cdk.out"
    flags = json.loads((root / "cdk.json").read_text())["context"]
    given = {"CDK_OUTDIR": str(out), "CDK_CONTEXT_JSON": json.dumps({**flags, **CONTEXT}), "CDK_VALIDATION": "false"}
    command = [sys.executable, "app.py"]
    ended = subprocess.run(
        command, cwd=root, env={**os.environ, **given}, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr
    templates = {path.name: path.read_text() for path in out.glob("*.template.json")}
    # An asset that is not bundled is named by its place; what is uploaded and when is told by the hashes alone.
    manifests = {path.name: json.loads(path.read_text()) for path in out.glob("*.assets.json")}
    hashes = {name: "\n".join([*found["files"], *found["dockerImages"]]) for name, found in manifests.items()}
    return templates | hashes
