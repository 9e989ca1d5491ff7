"""The functions' code, bundled for Lambda on this machine: it fits, it is made for Graviton, nothing is missing."""

from __future__ import annotations

import ast
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adapters.settings.queues import WOKEN
from cdk import bundling
from cdk.bundling import SERVICES, AssetKind, compute_digest, write_bundle
from cdk.deployment import CODEBUILD
from cdk.prerequisites import MissingPrerequisite
from cdk.wheels import HOST, LAMBDA, ROOT, name_command
from tests.cdk.templates import Templates
from tests.prerequisites import WHEELS_OF_FUNCTIONS

AARCH64 = 183  #: EM_AARCH64
MB = 1_000_000
ZIP_LIMIT = {AssetKind.API: 50 * MB, AssetKind.MIGRATIONS: 50 * MB}
UNZIPPED_LIMIT = 235 * MB
WITH_CODEBUILD = {"build_image"}
WITH_SIGN_ON = {"tokens.sign_on"}
WITH_SLIDES = {"inspect", "plan", "submit", "tiles"}
BEHIND_QUEUES = {function.name for function in WOKEN.values()}
#: What a function of that asset imports first.
HANDLERS = {
    AssetKind.API: {"api", "authorizer", "sweep", "webhook_send", "administer", "operate"}
    | WITH_CODEBUILD
    | WITH_SIGN_ON
    | (BEHIND_QUEUES - WITH_SLIDES - {"stitch"}),
    AssetKind.SLIDES: WITH_SLIDES,
    AssetKind.STITCH: {"stitch", "recover"},
    AssetKind.MIGRATIONS: {"migrate"},
}
OURS = ("wsi", "adapters", "lambdas")
#: Imported inside functions, for what this asset's handlers never do.
NOT_REACHED = {
    AssetKind.API: {"obstore", "numpy"},
    AssetKind.SLIDES: {"h5py", "pyarrow"},  # of slides without tissue alone are files written there
    AssetKind.STITCH: {"obstore", "h5py", "pyarrow"},  # queue `heavy` is for these
}

needs_wheels = WHEELS_OF_FUNCTIONS.mark


@pytest.fixture(params=list(AssetKind), ids=lambda kind: kind.name.lower())
def kind(request: pytest.FixtureRequest) -> AssetKind:
    return request.param


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[AssetKind, Path]:
    made = {kind: tmp_path_factory.mktemp(kind.name) for kind in AssetKind}
    for kind, target in made.items():
        write_bundle(kind, LAMBDA, target)
    return made


@pytest.fixture
def folder(kind: AssetKind, bundles: dict[AssetKind, Path]) -> Path:
    return bundles[kind]


@needs_wheels
def test_a_bundle_fits(kind: AssetKind, folder: Path, tmp_path: Path) -> None:
    unzipped = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert unzipped <= UNZIPPED_LIMIT
    if kind in ZIP_LIMIT:
        made = Path(shutil.make_archive(str(tmp_path / "bundle"), "zip", folder))
        assert made.stat().st_size <= ZIP_LIMIT[kind]


@needs_wheels
def test_every_library_is_for_graviton(folder: Path) -> None:
    libraries = [path for path in folder.rglob("*.so*") if path.is_file()]
    assert len(libraries) > 10
    foreign = [path.name for path in libraries if int.from_bytes(path.read_bytes()[18:20], "little") != AARCH64]
    assert foreign == []


@needs_wheels
def test_the_api_carries_no_numpy_and_the_slide_functions_no_scipy(bundles: dict[AssetKind, Path]) -> None:
    assert not (bundles[AssetKind.API] / "numpy").exists()
    assert (bundles[AssetKind.SLIDES] / "numpy").exists()
    assert not (bundles[AssetKind.SLIDES] / "scipy").exists()


@needs_wheels
def test_stitch_carries_nothing_that_reads_slides(bundles: dict[AssetKind, Path]) -> None:
    readers = ("openslide", "openslide_bin", "obstore", "pydicom", "simplejpeg", "PIL")
    assert [name for name in readers if (bundles[AssetKind.SLIDES] / name).exists()] == list(readers)
    assert [name for name in readers if (bundles[AssetKind.STITCH] / name).exists()] == []


def test_each_function_is_deployed_with_the_bundle_that_has_its_handler(templates: Templates) -> None:
    deployed: dict[str, set[str]] = {}
    for resource in templates.resources("AWS::Lambda::Function").values():
        package, _, rest = resource["Properties"].get("Handler", "").partition(".")
        if package == "lambdas":
            deployed.setdefault(resource["Properties"]["Code"]["S3Key"], set()).add(rest.removesuffix(".handler"))
    deployment = templates.deployment
    absent = set() if deployment.worker_image == CODEBUILD else WITH_CODEBUILD
    absent = absent if deployment.sign_on else absent | WITH_SIGN_ON
    assert sorted(map(sorted, deployed.values())) == sorted(sorted(names - absent) for names in HANDLERS.values())


def test_no_function_comes_from_an_image(templates: Templates) -> None:
    functions = templates.resources("AWS::Lambda::Function").values()
    assert [one["Metadata"] for one in functions if one["Properties"].get("PackageType") == "Image"] == []


@needs_wheels
def test_each_handler_is_a_file_of_its_bundle(kind: AssetKind, folder: Path) -> None:
    assert {name for name in HANDLERS[kind] if not (folder / f"lambdas/{name.replace('.', '/')}.py").is_file()} == set()


@needs_wheels
def test_whatever_its_handlers_import_is_in_the_bundle(kind: AssetKind, folder: Path) -> None:
    missing: dict[str, str] = {}
    for module, by in reached(folder, [f"lambdas.{name}" for name in HANDLERS[kind]]):
        top = module.partition(".")[0]
        if top in OURS or top in sys.stdlib_module_names or top in NOT_REACHED.get(kind, ()):
            continue
        if not any((folder / top).glob("*")) and not list(folder.glob(f"{top}.*")):
            missing[top] = by
    assert missing == {}


def reached(folder: Path, modules: list[str]) -> Iterator[tuple[str, str]]:
    """(module, who imports it), from `modules` on through our own packages, however deep in a function."""
    seen: set[str] = set()
    while modules:
        name = modules.pop()
        if name in seen:
            continue
        seen.add(name)
        path = folder / Path(*name.split("."))
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if not file.exists():
            continue
        for node in _executed(ast.parse(file.read_text())):
            for imported in _imported(node):
                yield imported, name
                if imported.partition(".")[0] in OURS:
                    modules.append(imported)


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only a type checker sees."""
    yield tree
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                pass
            case _:
                yield from _executed(node)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
        is_ours = node.module.partition(".")[0] in OURS
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names if is_ours)]
    return []


def test_botocore_knows_every_service_that_functions_call() -> None:
    called: set[str] = set()
    # deploying.py is the emulated deployment's, cognito.py the command line's.
    for path in (ROOT / "adapters").rglob("*.py"):
        if path.name in ("deploying.py", "cognito.py", "provisioning.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(attr="client" | "get_client"), args=[ast.Constant(value=service), *_]):
                    called.add(str(service))
                case _:
                    pass
    assert {"s3", "sqs", "rds", "cognito-idp"} <= called
    assert called <= SERVICES


def test_each_asset_and_platform_has_a_hash_of_its_own() -> None:
    hashes = [compute_digest(kind, platform) for kind in AssetKind for platform in (LAMBDA, HOST)]
    assert len(set(hashes)) == len(hashes)


@needs_wheels
def test_two_at_once_make_one_bundle_and_leave_nothing_half_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bundling, "BUNDLES", tmp_path / "bundles")
    targets = [tmp_path / "one", tmp_path / "other"]
    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(lambda target: write_bundle(AssetKind.MIGRATIONS, LAMBDA, target), targets))
    assert len(list((tmp_path / "bundles").iterdir())) == 1
    contents = [{path.relative_to(target) for path in target.rglob("*.py")} for target in targets]
    assert contents[0] == contents[1] >= {Path("lambdas/migrate.py"), Path("alembic/__init__.py")}


def test_without_its_wheels_a_bundle_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bundling, "BUNDLES", tmp_path / "bundles")
    monkeypatch.setattr(bundling, "WHEELS", tmp_path / "wheels")
    with pytest.raises(MissingPrerequisite, match=name_command(LAMBDA)):
        write_bundle(AssetKind.API, LAMBDA, tmp_path / "target")
