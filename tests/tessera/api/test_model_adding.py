"""Which files of a folder or an archive are sent as a model package, and under which name and version."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tessera.api.model_adding import derive_version, hash_files, name_model, open_package
from tessera.local_run.inputs import UsageError

FILES = {"card.json": b"{}", "model.onnx": b"weights"}


def folder_of(path: Path, files: dict[str, bytes]) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (path / name).write_bytes(data)
    return path


def zip_of(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return path


def read(path: Path) -> dict[str, bytes]:
    with open_package(path) as package:
        return {name: file.read_bytes() for name, file in package.items()}


def test_only_files_of_a_package_are_sent(tmp_path):
    assert read(folder_of(tmp_path / "net", {**FILES, "README.md": b"x", "train.py": b"x"})) == FILES


@pytest.mark.parametrize("below", ["", "net/", "a/b/net/"])
def test_an_archive_may_hold_the_package_in_a_folder(tmp_path, below):
    files = {f"{below}{name}": data for name, data in FILES.items()}
    assert read(zip_of(tmp_path / "net.zip", {**files, "LICENSE": b"x", "__MACOSX/._card.json": b"x"})) == FILES


def test_an_archive_writes_nowhere_but_into_a_folder_of_its_own(tmp_path):
    outside = {"../card.json": b"{}", "../model.onnx": b"evil", "/etc/model.onnx": b"evil"}
    assert read(zip_of(tmp_path / "net.zip", outside)) == {"card.json": b"{}", "model.onnx": b"evil"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.zip"]


def test_the_package_nearest_the_top_is_taken(tmp_path):
    deeper = {f"examples/old/{name}": b"old" for name in FILES}
    assert read(zip_of(tmp_path / "net.zip", {**FILES, **deeper})) == FILES


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"README.md": b"x"}, "neither card.json nor config.json"),
        ({"a/card.json": b"{}", "b/card.json": b"{}"}, "several packages"),
    ],
)
def test_an_archive_without_one_package_is_told_so(tmp_path, files, said):
    with pytest.raises(UsageError, match=said):
        read(zip_of(tmp_path / "net.zip", files))


def test_a_folder_without_a_card_is_told_what_makes_one(tmp_path):
    with pytest.raises(UsageError, match="models make"):
        read(folder_of(tmp_path / "weights", {"model.safetensors": b"w"}))


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 cut off", b"a text"])
def test_what_is_no_archive_is_told_so(tmp_path, data):
    path = tmp_path / "net.zip"
    path.write_bytes(data)
    with pytest.raises(UsageError, match="no ZIP archive, or a damaged one"):
        read(path)


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_archive_that_is_damaged_inside_is_told_so(tmp_path, packing):
    path = tmp_path / "net.zip"
    noise = bytes(number * number % 251 for number in range(4000))
    with zipfile.ZipFile(path, "w", packing) as packed:
        packed.writestr("golden.npz", noise)
        packed.writestr("card.json", b"{}")
    data = bytearray(path.read_bytes())
    data[60:160] = b"\xff" * 100
    path.write_bytes(data)
    with pytest.raises(UsageError, match="no ZIP archive, or a damaged one"):
        read(path)


@pytest.mark.parametrize(
    ("path", "name"), [("My Net (v2).zip", "my-net-v2"), ("resnet18.tcga_brca.zip", "resnet18.tcga_brca")]
)
def test_a_model_is_named_after_its_archive(path, name):
    assert name_model(Path(path)) == name


def test_a_model_is_named_after_its_folder_with_its_dots(tmp_path):
    assert name_model(folder_of(tmp_path / "ViT-S.16", {})) == "vit-s.16"


def test_the_version_is_that_of_the_bytes(tmp_path):
    def version(folder: str, files: dict[str, bytes]) -> str:
        with open_package(folder_of(tmp_path / folder, files)) as package:
            return derive_version(hash_files(package))

    first = version("a", FILES)
    assert first == version("b", FILES)
    assert first != version("c", {**FILES, "model.onnx": b"other"})
