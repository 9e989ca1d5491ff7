"""The build backend: setuptools, over a copy of the tree in which the wheel's only top-level package is `tessera`.

An editable install and an sdist are setuptools' own, of the tree as it is (docs/decisions/0097). There is no hook for
the metadata alone: frontends read it from the wheel, which is therefore built once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
)

from .staging import stage

__all__ = (
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
)

Settings = Mapping[str, Any] | None


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    metadata = os.path.abspath(metadata_directory) if metadata_directory else None  # noqa: PTH100
    target = str(Path(wheel_directory).absolute())
    with _enter_copy():
        return build_meta.build_wheel(target, config_settings, metadata)


@contextmanager
def _enter_copy() -> Iterator[None]:
    """Stage the current directory's tree, which frontends set to the project's root, and work in the copy."""
    root = Path.cwd()
    with TemporaryDirectory(prefix="tessera-build-") as folder:
        stage(root, Path(folder))
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(root)
