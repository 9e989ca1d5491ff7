"""Runs a command in a namespace without a network, or as it is where the kernel has none."""

from __future__ import annotations

import os
import sys

from tests.offline.namespace import enter_namespace

enter_namespace()
os.execvp(sys.argv[1], sys.argv[1:])
