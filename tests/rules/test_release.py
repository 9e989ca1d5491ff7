"""What `make release` packs."""

from __future__ import annotations

import subprocess
import tarfile
from importlib.metadata import version as installed_version
from pathlib import Path

import pytest

from tools.release import collect_page_files, collect_template_files, compute_sums, pack, read_version


def write(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def test_the_version_is_that_of_the_command() -> None:
    assert read_version() == installed_version("tessera-wsi")


def test_archives_of_the_same_files_have_the_same_bytes(tmp_path: Path) -> None:
    pack(tmp_path / "a.tar.gz", {"b/c": b"1", "a": b"22"})
    pack(tmp_path / "b.tar.gz", {"a": b"22", "b/c": b"1"})
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()
    with tarfile.open(tmp_path / "a.tar.gz") as archive:
        assert [(one.name, one.size, one.mtime, one.uname) for one in archive] == [("a", 2, 0, ""), ("b/c", 1, 0, "")]


def test_a_page_carries_the_licences_of_its_packages(tmp_path: Path) -> None:
    dist = write(tmp_path / "dist", "index.html", "assets/app.js")
    modules = write(tmp_path / "modules", "react/LICENSE", "@types/react/license.txt", "bare/index.js")
    files = collect_page_files(dist, modules, ["react", "@types/react"])
    assert set(files) == {"index.html", "assets/app.js", "licences.txt"}
    assert files["licences.txt"] == b"react\n\nreact/LICENSE\n\n@types/react\n\n@types/react/license.txt"
    with pytest.raises(FileNotFoundError, match="no licence text"):
        collect_page_files(dist, modules, ["bare"])


def test_nothing_is_packed_without_a_page_and_templates(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="make web"):
        collect_page_files(tmp_path, tmp_path, [])
    write(tmp_path, "dev/api.template.json", "dev/manifest.json")
    with pytest.raises(FileNotFoundError, match=r"prod holds no templates: make synth"):
        collect_template_files(tmp_path)
    write(tmp_path, "prod/api.template.json", "emulated/api.template.json")
    assert set(collect_template_files(tmp_path)) == {"dev/api.template.json", "prod/api.template.json"}


def test_sha256sum_accepts_the_sums(tmp_path: Path) -> None:
    write(tmp_path, "a.whl", "b.tar.gz", "SHA256SUMS")
    (tmp_path / "SHA256SUMS").write_text(compute_sums(tmp_path))
    check = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    assert subprocess.run(check, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    (tmp_path / "a.whl").write_text("changed")
    assert subprocess.run(check, cwd=tmp_path, capture_output=True, check=False).returncode == 1
