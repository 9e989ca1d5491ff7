"""The worker's image: what goes into it, what does not, and what changes its name."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms

from cdk.deployment import Deployment
from cdk.image.choice import choose_image
from cdk.image.recipe import BuildContext
from cdk.workload.pod import SCRATCH, USER
from tests.cdk.templates import ROOT
from tools.base_digest import read_base
from tools.locks.entries import PYTHON
from tools.locks.worker import PARTS

DOCKERFILE = ROOT / "gpu_worker/Dockerfile"
CONTENTS = ("adapters", "gpu_worker", "inference", "wsi")
FILES = (".dockerignore",)
WEIGHTS = tuple(f"inference/models/builtin/nuclei.{kind}" for kind in ("onnx", "safetensors"))
IMAGE_FILES = ("gpu_worker/Dockerfile", *(f"gpu_worker/locks/{part}.lock" for part in PARTS))
OUTSIDE = ("README.md", "constraints.txt", "docs/how-to/deploy.md", "lambdas/api.py", ".venv/lib/big.py")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What the image takes of the repository, and things that it does not."""
    root = tmp_path / "repository"
    root.mkdir()
    for name in FILES:
        shutil.copy(ROOT / name, root)
    for name in CONTENTS:
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (*OUTSIDE, "tests/test_x.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("no part of the image\n")
    return root


@pytest.fixture(params=["docker", "codebuild"])
def builder(request: pytest.FixtureRequest) -> str:
    return request.param


def built(root: Path, out: Path, **settings: str) -> str:
    """What names the image: its URI, or with CodeBuild its tag, whose digest nobody knows yet. Its context lies below
    `out`."""
    app = cdk.App(outdir=str(out), context={"aws:cdk:bundling-stacks": []})
    stack = cdk.Stack(app, "Images")
    deployment = Deployment.from_context({"environment": "dev", **settings})
    key = kms.Key(stack, "Key")
    uri = str(stack.resolve(choose_image(stack, deployment, key=key, log_key=key, root=root)))
    return next((one.asset_hash for one in stack.node.find_all() if isinstance(one, BuildContext)), uri)


def context(out: Path) -> dict[Path, bytes]:
    """The files that the builder is sent, with their content."""
    [staged] = [folder for folder in out.glob("asset.*") if (folder / "gpu_worker").exists()]
    return {path.relative_to(staged): path.read_bytes() for path in staged.rglob("*") if path.is_file()}


def test_docker_and_codebuild_build_from_the_same_files(tmp_path: Path) -> None:
    for name in ("docker", "codebuild"):
        built(ROOT, tmp_path / name, worker_image=name)
    sent = context(tmp_path / "docker")
    assert len(sent) > 100
    assert context(tmp_path / "codebuild") == sent


def test_the_image_takes_our_packages_and_its_requirements(tree: Path, tmp_path: Path, builder: str) -> None:
    built(tree, tmp_path / "out", worker_image=builder)
    names = context(tmp_path / "out")
    assert {name.parts[0] for name in names} == {*CONTENTS, *FILES}
    assert {Path(name) for name in (*IMAGE_FILES, *WEIGHTS)} <= set(names)
    assert Path("gpu_worker/requirements.txt") not in names


def test_everything_that_the_dockerfile_copies_is_let_in(tmp_path: Path) -> None:
    built(ROOT, tmp_path)
    names = context(tmp_path)
    lines = re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE.read_text(), re.M)
    copied = [word for line in lines for word in line.split()[:-1]]
    assert copied
    for source in copied:
        assert any(name.is_relative_to(source) for name in names), source
    assert not [name for name in names if "__pycache__" in name.parts]
    assert {name.parts[0] for name in names} == {*CONTENTS, *FILES}


@pytest.mark.parametrize("name", [*OUTSIDE, "wsi/left here.svs", "adapters/notes.pyc"])
def test_what_is_no_part_of_the_image_does_not_rename_it(tree: Path, tmp_path: Path, builder: str, name: str) -> None:
    before = built(tree, tmp_path / "before", worker_image=builder)
    (tree / name).write_text("another word\n")
    assert built(tree, tmp_path / "after", worker_image=builder) == before


@pytest.mark.parametrize("name", ["gpu_worker/drain.py", "wsi/planning/plan.py", *IMAGE_FILES])
def test_what_is_part_of_the_image_renames_it(tree: Path, tmp_path: Path, builder: str, name: str) -> None:
    before = built(tree, tmp_path / "before", worker_image=builder)
    with (tree / name).open("a") as file:
        file.write("# another word\n")
    assert built(tree, tmp_path / "after", worker_image=builder) != before


def test_an_image_of_the_deployments_own_choice_is_taken_as_it_is(tmp_path: Path) -> None:
    assert built(ROOT, tmp_path, worker_image="registry.example.org/worker:1") == "registry.example.org/worker:1"
    assert not list(tmp_path.glob("asset.*"))


def test_the_base_with_its_digest_renames_the_image(tmp_path: Path, builder: str) -> None:
    pinned = [f"{read_base()}@sha256:{digit * 64}" for digit in "ab"]
    names = {built(ROOT, tmp_path / base[-1], worker_base=base, worker_image=builder) for base in pinned}
    assert len(names | {built(ROOT, tmp_path / "none", worker_image=builder)}) == 3


def test_the_base_with_its_digest_is_an_argument_of_dockers_build() -> None:
    pinned = f"{read_base()}@sha256:{'a' * 64}"
    stack = cdk.Stack(app := cdk.App(), "Images")
    key = kms.Key(stack, "Key")
    deployment = Deployment.from_context({"environment": "dev", "worker_base": pinned})
    choose_image(stack, deployment, key=key, log_key=key)
    manifest = json.loads(Path(app.synth().directory, "Images.assets.json").read_text())
    [image] = (one["source"] for one in manifest["dockerImages"].values())
    assert image["dockerBuildArgs"] == {"BASE": pinned}
    assert image["platform"] == "linux/amd64"


def test_every_stage_starts_from_one_image_of_a_registry_without_accounts() -> None:
    [base] = re.findall(r"^ARG BASE=(\S+)$", DOCKERFILE.read_text(), re.M)
    assert re.fullmatch(rf"public\.ecr\.aws/docker/library/python:{PYTHON}\.\d+-slim-[a-z]+", base)
    assert _stages() == {
        **dict.fromkeys(("tini", "environment", "code", ""), "${BASE}"),
        **dict.fromkeys(PARTS, "environment"),
    }


def test_the_environment_comes_in_layers_with_torch_apart() -> None:
    *_, last = DOCKERFILE.read_text().split("\nFROM ")
    layers = re.findall(r"^COPY --from=(\w+) (\S+) (\S+)$", last, re.M)
    assert [(stage, to) for stage, of, to in layers if of == "/opt/worker"] == [(part, "/opt/worker") for part in PARTS]
    assert layers[-1] == ("code", "/srv/tessera", "/srv/tessera"), "what changes most comes last"


def test_packages_are_installed_from_the_lock_by_their_hashes_and_nothing_is_built() -> None:
    text = DOCKERFILE.read_text()
    installed = re.findall(r"^RUN pip --python /opt/worker/bin/python install (.*)$", text, re.M)
    assert installed == [f"-r /build/{part}.lock" for part in PARTS]
    [environment] = re.findall(r"^FROM \S+ AS environment\n(.*?)\nRUN", text, re.M | re.S)
    assert {"PIP_NO_DEPS=1", "PIP_ONLY_BINARY=:all:", "PIP_REQUIRE_HASHES=1"} <= set(environment.split())
    assert not re.search(r"gcc|g\+\+|build-essential|conda|nvidia/cuda", text)


def test_libraries_are_told_to_call_nobody() -> None:
    text = DOCKERFILE.read_text()
    assert "ORT_DISABLE_TELEMETRY=1" in text
    assert "HF_HUB_OFFLINE=1" in text


def test_pip_does_not_stay_in_the_image() -> None:
    *_, last = DOCKERFILE.read_text().split("\nFROM ")
    assert "venv --without-pip" in DOCKERFILE.read_text()
    assert "pip uninstall --yes pip" in last
    assert "apt-get" not in last


def test_user_and_folders_of_the_image_are_those_of_the_pod() -> None:
    text = DOCKERFILE.read_text()
    assert f"useradd --uid {USER} " in text
    assert f"\nUSER {USER}\n" in text
    assert f"TESSERA_SCRATCH={SCRATCH}/" in text


def test_signals_reach_the_worker_F23() -> None:
    commands = re.findall(r"^(?:ENTRYPOINT|CMD) (.*)$", DOCKERFILE.read_text(), re.M)
    assert commands == ['["tini", "--"]', '["python", "-m", "gpu_worker"]'], "a shell passes no signal on"


def _stages() -> dict[str, str]:
    """Name of each stage to the image it starts from; the last has none."""
    return {name: base for base, name in re.findall(r"^FROM (\S+)(?: AS (\w+))?$", DOCKERFILE.read_text(), re.M)}
