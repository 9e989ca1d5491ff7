"""Programs that tests need beyond `pip install -r requirements.txt`. Plain pytest skips a test that lacks one, and says
which command installs it. With SETUP_TESTS=required, as in the Makefile, such a test runs and fails: make has installed
them. The browser is no part of `make setup`; it has a variable of its own, which .ci/run sets."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from cdk.prerequisites import MissingPrerequisite, choose_node
from cdk.wheels import LAMBDA, WHEELS, name_command

ROOT = Path(__file__).parents[1]
TOOLS = ROOT / ".tools/node_modules"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True, kw_only=True)
class Prerequisite:
    is_here: Callable[[], bool]
    reason: str  #: for skipping: what is missing, and the command that installs it
    variable: str = "SETUP_TESTS"  #: "required" there: nothing is skipped for the lack of it

    def should_skip(self) -> bool:
        return not self.is_here() and os.environ.get(self.variable) != "required"

    def require(self) -> None:
        """Skip the test that asks, or fail it."""
        if self.should_skip():
            pytest.skip(self.reason)
        if not self.is_here():
            pytest.fail(self.reason)

    @property
    def mark(self) -> pytest.MarkDecorator:
        return pytest.mark.skipif(self.should_skip(), reason=self.reason)


def _has_node_for_cdk() -> bool:
    try:
        choose_node()
    except MissingPrerequisite:
        return False
    return True


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


#: For jsii, hence for everything that imports `aws_cdk`.
NODE_FOR_CDK = Prerequisite(
    is_here=_has_node_for_cdk,
    reason="Node is not on the PATH: `make setup` installs one into .tools, https://nodejs.org has it.",
)
#: For AppSync's resolvers, which the embedded stack runs.
NODE = Prerequisite(
    is_here=lambda: shutil.which("node") is not None,
    reason="Node is not on the PATH: install version 22 or newer from https://nodejs.org.",
)
EMULATOR = Prerequisite(
    is_here=(ROOT / ".venv-ministack/bin/python").exists,
    reason="The emulator of AWS is not installed here: `make setup` installs it.",
)
CDK_COMMAND = Prerequisite(
    is_here=(TOOLS / ".bin/cdk").exists, reason="The CDK's command is not in .tools: `make setup` installs it."
)
LINTER = Prerequisite(
    is_here=(TOOLS / "eslint").exists, reason="The linter of resolvers is not in .tools: `make setup` installs it."
)
SECRETS_SCANNER = Prerequisite(
    is_here=(TOOLS / "secretlint").exists, reason="The scanner for secrets is not in .tools: `make setup` installs it."
)
WHEELS_OF_FUNCTIONS = Prerequisite(
    is_here=(WHEELS / LAMBDA.name).exists,
    reason=f"The wheels of the functions are not here: `{name_command(LAMBDA)}` fetches them.",
)
PAGE = Prerequisite(
    is_here=lambda: (ROOT / "web/dist/index.html").is_file() and (ROOT / "web/node_modules/axe-core").is_dir(),
    reason="The page is not built here: `make web` builds it.",
)
BROWSER = Prerequisite(
    is_here=lambda: find_chromium() is not None,
    reason="There is no chromium on the PATH: `apt-get install chromium` installs it.",
    variable="BROWSER_TESTS",
)

#: Modules and folders that import `aws_cdk`, which fails without Node: they are not even collected there.
WITH_CDK = ("tests/cdk/", "tests/emulated/test_templates.py", "tests/rules/test_reference.py", "tests/tools/account/")
