"""Adding a model package to an installation: which files, sent in parts, and the wait for the verdict."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath

from tessera.api.rest import Api, RemoteModelVersion
from tessera.api.upload import send_parts
from tessera.local_run.inputs import UsageError
from wsi.models.package_files import CARD, CONFIG, PACKAGE_FILES, compute_files_digest
from wsi.models.registration_rules import NewPackageFile
from wsi.slide.ranges import FileSource
from wsi.states import RegistrationState

#: Seconds between looks at how the version stands.
LOOK_SECONDS = 1.0

_NO_PACKAGE = (
    f"holds neither {CARD} nor {CONFIG}: it is no model package. `tessera models make` makes one of weights as they "
    "are published"
)


@contextmanager
def open_package(path: Path) -> Generator[Mapping[str, Path]]:
    """Yield the files of the package by name, from a folder or from a ZIP archive, which is unpacked for as long.
    Raises UsageError."""
    if path.is_dir():
        found = {name: path / name for name in sorted(PACKAGE_FILES) if (path / name).is_file()}
        if not {CARD, CONFIG} & found.keys():
            raise UsageError(f"{path.name} {_NO_PACKAGE}")
        yield found
        return
    with tempfile.TemporaryDirectory() as folder:
        yield _unpack(path, Path(folder))


def name_model(path: Path) -> str:
    """Return a name for the model, after its folder or archive."""
    stem = path.resolve().name if path.is_dir() else path.stem
    return re.sub(r"[^a-z0-9._-]+", "-", stem.lower()).strip("-._")


def hash_files(package: Mapping[str, Path]) -> tuple[NewPackageFile, ...]:
    """Return the name, size and SHA-256 of each file, as they are announced to the installation."""
    return tuple(
        NewPackageFile(name=name, size=path.stat().st_size, sha256=_sha256(path)) for name, path in package.items()
    )


def derive_version(files: tuple[NewPackageFile, ...]) -> str:
    """Return a version made from the bytes: the same package always has the same one."""
    return compute_files_digest({file.name: file.sha256 for file in files})[:12]


def add(
    api: Api,
    package: Mapping[str, Path],
    files: tuple[NewPackageFile, ...],
    name: str,
    version: str,
    *,
    becomes_default: bool,
    on_progress: Callable[[int], None] = lambda size: None,
) -> RemoteModelVersion:
    """Send the version's files and return its state after that: CHECKING, or READY where it was before. Parts that S3
    has of an upload that broke off are not sent again. Raises what the API raises, and SourceUnavailable."""
    begun = api.add_model(name, version, files, becomes_default=becomes_default)
    if begun.status != RegistrationState.UPLOADING:
        on_progress(sum(file.size for file in files))
        return begun
    with ExitStack() as opened:
        sources = [FileSource(package[file.name]) for file in files]
        for source in sources:
            opened.callback(source.close)
        stored = api.list_stored_package_parts(name, version)
        send_parts(sources, stored, lambda part: api.grant_package_part(name, version, part), on_progress=on_progress)
    return api.complete_model(name, version)


def wait_until_checked(
    api: Api, added: RemoteModelVersion, *, becomes_default: bool, sleep: Callable[[float], None] = time.sleep
) -> RemoteModelVersion:
    """Wait until a worker said READY or REJECTED, and return the version. With `becomes_default` a READY version is
    made the default, also one whose first request did not ask for that."""
    while added.status == RegistrationState.CHECKING:
        sleep(LOOK_SECONDS)
        added = api.get_model_version(added.name, added.version)
    if added.status == RegistrationState.READY and becomes_default and not added.is_default:
        api.choose_default(added.name, added.version)
        return api.get_model_version(added.name, added.version)
    return added


def _unpack(archive: Path, folder: Path) -> Mapping[str, Path]:
    """Unpack the files of the one folder that holds the package's card, and return them by name. Files that no package
    has are not unpacked. Raises UsageError."""
    try:
        with zipfile.ZipFile(archive) as packed:
            names = [PurePosixPath(name) for name in packed.namelist()]
            homes = sorted({name.parent for name in names if name.name in (CARD, CONFIG)}, key=lambda at: len(at.parts))
            if not homes:
                raise UsageError(f"{archive.name} {_NO_PACKAGE}")
            if len(homes) > 1 and len(homes[0].parts) == len(homes[1].parts):
                raise UsageError(f"{archive.name} holds several packages: unpack it and add one folder at a time")
            found = [name for name in names if name.parent == homes[0] and name.name in PACKAGE_FILES]
            for name in found:
                with packed.open(str(name)) as source, (folder / name.name).open("wb") as target:
                    shutil.copyfileobj(source, target, 2**20)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as error:
        raise UsageError(f"{archive.name} is no ZIP archive, or a damaged one: pack it again") from error
    except RuntimeError as error:
        raise UsageError(f"{archive.name} is encrypted: unpack it and add the folder") from error
    return {name.name: folder / name.name for name in sorted(found, key=lambda name: name.name)}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
