"""`make synth`: the templates of both presets, or of the context given, into cdk.out/<environment>, and their sizes.

    python tools/synth.py [-c name=value ...]

Needs no account, no credentials and no docker. Fails on warnings of the CDK and on errors of its own validation.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = ROOT / ".tools/node_modules"
PRESETS = (("-c", "environment=dev"), ("-c", "environment=prod"))


def main(context: tuple[str, ...]) -> int:
    for chosen in [context] if context else PRESETS:
        out = ROOT / "cdk.out" / _read_environment(chosen)
        began = time.monotonic()
        done = _synthesize(chosen, out)
        if done.returncode:
            sys.stderr.write(done.stdout)
            return done.returncode
        sys.stdout.write(done.stdout)  # the app's report of slides a day is in it
        sys.stdout.write(_table(out, time.monotonic() - began))
        sys.stdout.flush()
    return 0


def _read_environment(context: tuple[str, ...]) -> str:
    given = dict(argument.partition("=")[::2] for argument in context)
    return given.get("environment", "dev")


def _synthesize(context: tuple[str, ...], out: Path) -> subprocess.CompletedProcess[str]:
    # cdk.json runs `python3`: the one that runs this.
    path = (str(Path(sys.executable).parent), str(MODULES / "node/bin"), os.environ["PATH"])
    environment = {
        **os.environ,
        "PATH": os.pathsep.join(path),
        "JSII_NODE": str(MODULES / "node/bin/node"),
        "CDK_DISABLE_CLI_TELEMETRY": "1",
    }
    command = [MODULES / ".bin/cdk", "synth", "--strict", "--quiet", "--no-notices", "--output", out, *context]
    return subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


def _table(out: Path, seconds: float) -> str:
    artifacts = json.loads((out / "manifest.json").read_text())["artifacts"]
    stacks = [name for name, artifact in artifacts.items() if artifact["type"] == "aws:cloudformation:stack"]
    lines = [f"\n{out.relative_to(ROOT)}: {len(stacks)} stacks in {seconds:.1f} s\n"]
    total = 0
    for name in stacks:
        template = out / artifacts[name]["properties"]["templateFile"]
        resources = len(json.loads(template.read_text()).get("Resources", {}))
        total += resources
        lines.append(f"  {name:<28}{resources:>5} resources{template.stat().st_size / 1024:>7.0f} KiB\n")
    lines.append(f"  {'':<28}{total:>5} resources\n")
    return "".join(lines)


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:])))
