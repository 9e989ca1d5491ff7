"""A model that an admin adds to what was deployed, one that is refused, and a job."""

from __future__ import annotations

import shutil
from pathlib import Path

from local.emulated.command import describe_exit, run_tessera
from local.emulated.installation import EmulatedInstallation
from local.emulated.report import Report
from tessera.local_run.outcomes import FAILED
from wsi.models.package_files import CARD, CONFIG

NAME = "added"


class ModelsOnTheWay:
    def __init__(self, installation: EmulatedInstallation, report: Report, admin_key: str) -> None:
        self._report = report
        self._folder = installation.folder / "models-on-the-way"
        self._where = ("--api", installation.api_url)
        self._key = admin_key

    def run(self, package: Path, slide: Path) -> None:
        check = self._report.check
        with self._report.step("tessera models add"):
            added = run_tessera("models", "add", str(package), "--name", NAME, *self._where, key=self._key)
        check(
            "a worker tried the model: READY", added.returncode == 0 and "READY" in added.stdout, describe_exit(added)
        )
        with self._report.step("tessera models add, of a package whose card is none"):
            refused = run_tessera("models", "add", str(self._broken(package)), *self._where, key=self._key)
        said = refused.returncode == FAILED and "REJECTED" in refused.stderr
        check("it is refused with a sentence", said, describe_exit(refused))
        with self._report.step("tessera submit, with the model that was added"):
            out = ("--out", str(self._folder / "results"))
            ran = run_tessera("submit", str(slide), "--model", NAME, *out, *self._where, key=self._key)
        check("tessera submit: completed", ran.returncode == 0, describe_exit(ran))

    def _broken(self, package: Path) -> Path:
        broken = self._folder / "broken"
        shutil.copytree(package, broken)
        for name in (CARD, CONFIG):
            if (broken / name).is_file():
                (broken / name).write_text("{}")
        return broken
