"""The lists of what is shipped, held to CycloneDX's own schema and to the locks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cyclonedx.schema
import jsonschema
import pytest
from packaging.utils import canonicalize_name
from referencing import Registry, Resource

from tools.locks import worker
from tools.locks.entries import read_entries
from tools.sbom.__main__ import write_sboms
from tools.sbom.contents import FUNCTIONS

SCHEMAS = Path(cyclonedx.schema.__file__).parent / "_res"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("sbom")
    write_sboms(made)
    return made


def read(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / f"{name}.cdx.json").read_text())


def packages(listed: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in listed["components"]}


@pytest.mark.parametrize("name", ["worker", *FUNCTIONS, "page"])
def test_a_list_follows_the_schema(folder: Path, name: str) -> None:
    schemas = {path.name: json.loads(path.read_text()) for path in SCHEMAS.glob("*.SNAPSHOT.schema.json")}
    registry = Registry().with_resources(
        (f"http://cyclonedx.org/schema/{file}", Resource.from_contents(one)) for file, one in schemas.items()
    )
    schema = schemas["bom-1.6.SNAPSHOT.schema.json"]
    jsonschema.Draft7Validator(schema, registry=registry).validate(read(folder, name))


def test_the_workers_list_is_its_lock_with_hashes_and_licences(folder: Path) -> None:
    listed, locked = read(folder, "worker"), read_entries(worker.read_lock())
    assert {name: one["version"] for name, one in packages(listed).items()} == {
        canonicalize_name(name): version for name, (version, _) in locked.items()
    }
    assert all(one["licenses"] for one in listed["components"])
    torch = packages(listed)["torch"]
    assert {one["content"] for one in torch["hashes"]} == locked["torch"][1]
    assert torch["purl"] == f"pkg:pypi/torch@{torch['version']}"
    assert next(one["value"] for one in listed["metadata"]["component"]["properties"]).startswith("public.ecr.aws/")


def test_each_bundle_lists_its_own_packages(folder: Path) -> None:
    assert "pyjwt" in packages(read(folder, "api"))
    assert "pyjwt" not in packages(read(folder, "slides"))
    assert {"openslide-python", "pydicom"} <= packages(read(folder, "slides")).keys()
    assert "numpy" not in packages(read(folder, "api"))
    assert "pytest" not in {name for one in FUNCTIONS for name in packages(read(folder, one))}
    assert "openseadragon" in packages(read(folder, "page"))


def test_two_runs_give_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    write_sboms(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        path.name: path.read_bytes() for path in folder.iterdir()
    }
