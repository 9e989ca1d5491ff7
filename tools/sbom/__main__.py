"""Writes NAME.cdx.json for each shipped part, in CycloneDX 1.6. The same commit gives the same bytes.

python -m tools.sbom [FOLDER]    FOLDER is build/sbom where none is given
"""

from __future__ import annotations

import sys
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

from tools.release import ROOT, read_version
from tools.sbom.contents import ShippedPackage, ShippedPart, list_parts

BASE = "tessera:image:base"  #: the property that names an image's base


def make_sbom(part: ShippedPart, version: str) -> str:
    """Return the list of a part as JSON."""
    whole = Component(
        name=f"tessera-{part.name}",
        version=version,
        type=ComponentType.CONTAINER if part.is_image else ComponentType.APPLICATION,
        bom_ref=f"tessera-{part.name}",
        licenses=[LicenseFactory().make_from_string("Apache-2.0")],
        properties=[Property(name=BASE, value=part.base)] if part.base else [],
    )
    bom = Bom(components=[_make_component(package) for package in part.packages])
    bom.metadata.component = whole
    bom.register_dependency(whole, bom.components)
    # Neither a time nor a random number: a list that differs has other contents.
    bom.metadata.timestamp = None  # pyright: ignore[reportAttributeAccessIssue]
    bom.serial_number = uuid5(NAMESPACE_URL, repr((version, part)))
    return f"{make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=2)}\n"


def _make_component(package: ShippedPackage) -> Component:
    namespace, _, name = package.name.rpartition("/")
    url = PackageURL(type=package.kind, namespace=namespace or None, name=name, version=package.version)
    return Component(
        name=package.name,
        version=package.version,
        type=ComponentType.LIBRARY,
        bom_ref=url.to_string(),
        purl=url,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=one) for one in sorted(package.hashes)],
        licenses=[LicenseFactory().make_from_string(package.licence)],
    )


def write_sboms(folder: Path) -> list[Path]:
    """Write the lists of all parts and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for part in list_parts():
        path = folder / f"{part.name}.cdx.json"
        path.write_text(make_sbom(part, read_version()))
        written.append(path)
    return written


if __name__ == "__main__":
    for path in write_sboms(Path(*sys.argv[1:]) if sys.argv[1:] else ROOT / "build/sbom"):
        sys.stdout.write(f"{path}\n")
