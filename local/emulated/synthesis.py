"""The real app, synthesized for this machine: its stacks in the order of deployment, with templates and code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CDK = ROOT / ".tools" / "node_modules" / ".bin" / "cdk"
NODE = ROOT / ".tools" / "node_modules" / "node" / "bin"
ENVIRONMENT = "emulated"
QUEUE_PREFIX = f"tessera-{ENVIRONMENT}-"  #: as Deployment.queue_prefix says
PAGE = "http://localhost:5173"  #: the origin of a page under development
CONTEXT: Mapping[str, str] = {"preset": "dev", "environment": ENVIRONMENT, "emulated": "true", "page_origins": PAGE}
STACK = "aws:cloudformation:stack"
MANIFEST = "cdk:asset-manifest"


@dataclass(frozen=True, kw_only=True, slots=True)
class Asset:
    """A file, or a folder that becomes a zip."""

    path: Path
    key: str  #: in the bucket of the bootstrap

    def make_file(self) -> Path:
        """Return the file to upload. A folder's zip is made once, next to the folder; uncompressed, since nothing
        leaves this machine."""
        if self.path.is_file():
            return self.path
        made = self.path.with_name(f"{self.path.name}.zip")
        if not made.exists():
            partial = made.with_name(f".{made.name}.partial")
            with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED, strict_timestamps=False) as archive:
                for path in sorted(self.path.rglob("*")):
                    archive.write(path, path.relative_to(self.path))
            partial.replace(made)
        return made


@dataclass(frozen=True, kw_only=True, slots=True)
class SynthesizedStack:
    name: str
    noun: str  #: "data"
    template: dict[str, Any]
    assets: tuple[Asset, ...]


def synthesize(out: Path) -> tuple[SynthesizedStack, ...]:
    """Synthesize by the CDK's own command, as a deployer does. Raises RuntimeError with its last output."""
    if not CDK.exists():
        raise RuntimeError("The CDK is not installed; run `make setup`.")
    options = [word for name, value in CONTEXT.items() for word in ("--context", f"{name}={value}")]
    environ = {
        **os.environ,
        # cdk.json runs `python3`: the one that runs this.
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), str(NODE), os.environ["PATH"])),
        "JSII_NODE": str(NODE / "node"),
        "CDK_DISABLE_CLI_TELEMETRY": "1",
        "CDK_VALIDATION": "false",  # `make check-infra` validates
    }
    done = subprocess.run(
        [str(CDK), "synth", "--quiet", "--no-notices", "--no-version-reporting", "--output", str(out), *options],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"The app cannot be synthesized:\n{done.stderr.strip()[-2000:]}")
    stacks = read_assembly(out)
    _forget_old_code(out, stacks)
    return stacks


def read_assembly(folder: Path) -> tuple[SynthesizedStack, ...]:
    """Read the stacks of a cloud assembly; each comes after those that it depends on."""
    artifacts = _read(folder / "manifest.json")["artifacts"]
    stacks = {id: artifact for id, artifact in artifacts.items() if artifact["type"] == STACK}
    order = TopologicalSorter({id: _dependencies(artifact, stacks) for id, artifact in stacks.items()}).static_order()
    return tuple(_stack(folder, id, artifacts) for id in order)


def _forget_old_code(out: Path, stacks: tuple[SynthesizedStack, ...]) -> None:
    """Delete bundles that no stack uses. The folder is kept, so that code which did not change is not bundled again;
    what did change is 350 MB."""
    current = {asset.path.name for stack in stacks for asset in stack.assets}
    for path in out.glob("asset.*"):
        if path.name not in current and path.name.removesuffix(".zip") not in current:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _stack(folder: Path, id: str, artifacts: Mapping[str, Any]) -> SynthesizedStack:
    artifact = artifacts[id]
    manifests = [artifacts[name] for name in artifact.get("dependencies", ()) if artifacts[name]["type"] == MANIFEST]
    name = artifact["properties"].get("stackName", id)
    return SynthesizedStack(
        name=name,
        noun=name.rpartition("-")[2],
        template=_read(folder / artifact["properties"]["templateFile"]),
        assets=tuple(asset for manifest in manifests for asset in _assets(folder, manifest["properties"]["file"])),
    )


def _assets(folder: Path, manifest: str) -> Iterator[Asset]:
    for file in _read(folder / manifest).get("files", {}).values():
        for destination in file["destinations"].values():
            yield Asset(path=folder / file["source"]["path"], key=destination["objectKey"])


def _dependencies(artifact: Mapping[str, Any], stacks: Mapping[str, Any]) -> list[str]:
    return [name for name in artifact.get("dependencies", ()) if name in stacks]


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())
