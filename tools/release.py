"""`make release`: it packs the page and the templates next to the wheel in build/release, and writes SHA256SUMS.

Archives of the same files have the same bytes: entries are sorted and hold no time and no owner.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import sys
import tarfile
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from tools.notices import list_page_packages

ROOT = Path(__file__).resolve().parents[1]
RELEASE = ROOT / "build/release"
SUMS = "SHA256SUMS"
PRESETS = ("dev", "prod")


def read_version() -> str:
    """Return the version of pyproject.toml, the only place that states it."""
    stated: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    return stated


def pack(target: Path, files: Mapping[str, bytes]) -> None:
    """Write a .tar.gz of the given files by their path in it."""
    with (
        target.open("wb") as out,
        gzip.GzipFile(fileobj=out, mode="wb", filename="", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(files[name]), 0o644
            archive.addfile(entry, io.BytesIO(files[name]))


def collect_page_files(dist: Path, modules: Path, packages: Iterable[str]) -> Mapping[str, bytes]:
    """Return the built page with the licence texts of the packages in it. Raises FileNotFoundError without a build."""
    if not (dist / "index.html").exists():
        raise FileNotFoundError(f"{dist} holds no page: make web.")
    licences = "\n\n".join(f"{name}\n\n{_licence_text(modules / name)}" for name in packages)
    return {**_tree(dist), "licences.txt": licences.encode()}


def collect_template_files(assemblies: Path) -> Mapping[str, bytes]:
    """Return the CloudFormation templates of each preset. Raises FileNotFoundError if one has none."""
    templates: dict[str, bytes] = {}
    for preset in PRESETS:
        found = [*(assemblies / preset).glob("*.template.json")]
        if not found:
            raise FileNotFoundError(f"{assemblies / preset} holds no templates: make synth.")
        templates |= {f"{preset}/{path.name}": path.read_bytes() for path in found}
    return templates


def compute_sums(folder: Path) -> str:
    """Return the lines that `sha256sum --check` reads, for all files of a folder except SHA256SUMS itself."""
    files = sorted(path for path in folder.iterdir() if path.name != SUMS)
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)


def _tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _licence_text(package: Path) -> str:
    texts = sorted(path for path in package.iterdir() if path.name.lower().startswith(("license", "licence", "notice")))
    if not texts:
        raise FileNotFoundError(f"{package} has no licence text.")
    return "\n".join(path.read_text() for path in texts)


def main() -> None:
    if not list(RELEASE.glob(f"*-{read_version()}-*.whl")):
        sys.exit(f"There is no wheel of version {read_version()} in {RELEASE}: make release.")
    packages = [name for name, _, _ in list_page_packages()]
    page = collect_page_files(ROOT / "web/dist", ROOT / "web/node_modules", packages)
    pack(RELEASE / f"tessera-page-{read_version()}.tar.gz", page)
    pack(RELEASE / f"tessera-templates-{read_version()}.tar.gz", collect_template_files(ROOT / "cdk.out"))
    (RELEASE / SUMS).write_text(compute_sums(RELEASE))
    sys.stdout.write((RELEASE / SUMS).read_text())


if __name__ == "__main__":
    main()
