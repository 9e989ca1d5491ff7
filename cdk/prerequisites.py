"""Programs and packages that must be on this machine before the app can start. This module imports no part of the CDK:
jsii starts Node when `aws_cdk` is imported, and without Node the deployer would see nothing but a traceback."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

_OWN = Path(__file__).resolve().parent.parent / ".tools/node_modules/node/bin/node"  #: what `make` installs
OLDEST_NODE = 20  #: jsii runs on this major version with a warning; older ones it does not support


class MissingPrerequisite(Exception):
    """Something is not installed or cannot be fetched; the text names it, and the command that brings it."""


def check_prerequisites() -> None:
    """Check the Python packages of the CDK, and choose the Node that it runs on. Raises MissingPrerequisite."""
    if find_spec("aws_cdk") is None:
        raise MissingPrerequisite(
            "This Python has no package aws-cdk-lib. Activate the environment that has it, or install it:"
            " pip install -r requirements.txt"
        )
    choose_node()


def choose_node() -> None:
    """Name to jsii, in JSII_NODE, the Node that is named there already, else that of this checkout's tools, else that
    on the PATH. Raises MissingPrerequisite if there is none, or if it is too old."""
    named = os.environ.get("JSII_NODE")
    found = shutil.which(named or (str(_OWN) if _OWN.exists() else "node"))
    if found is None:
        where = f"JSII_NODE names {named}, which is no program" if named else "Node is not on the PATH"
        raise MissingPrerequisite(
            f"{where}. The CDK needs Node 22 or newer: https://nodejs.org has it, and `make setup` installs one into"
            " .tools."
        )
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    major = re.match(r"v(\d+)\.", version)
    if major is None or int(major[1]) < OLDEST_NODE:
        raise MissingPrerequisite(
            f"{found} is Node {version.removeprefix('v') or 'of an unknown version'}. The CDK needs Node 22 or newer:"
            " https://nodejs.org has it."
        )
    os.environ["JSII_NODE"] = found
