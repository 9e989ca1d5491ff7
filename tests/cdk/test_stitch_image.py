"""The image of stitch: what goes into it, and what it is made for."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_lambda as lambda_
from packaging.requirements import Requirement

from cdk.python_function import make_image_code
from cdk.wheels import LAMBDA, REQUIREMENTS, ROOT
from tests.cdk.templates import Templates
from tests.cdk.test_bundling import OURS, reached

DOCKERFILE = ROOT / "lambdas/stitch.Dockerfile"
NOT_REACHED_BY_STITCH = {"obstore"}  #: imported where slides are read


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> set[Path]:
    """The files that docker gets to see."""
    out = tmp_path_factory.mktemp("out")
    app = cdk.App(outdir=str(out))
    lambda_.DockerImageFunction(
        stack := cdk.Stack(app, "Images"), "Stitch", code=make_image_code(stack, "S", "stitch", None)
    )
    [staged] = out.glob("asset.*")
    return {path.relative_to(staged) for path in staged.rglob("*") if path.is_file()}


def test_everything_that_the_dockerfile_copies_is_let_in_and_nothing_of_the_worker(context: set[Path]) -> None:
    copied = [word for line in re.findall(r"^COPY (.*)$", DOCKERFILE.read_text(), re.M) for word in line.split()[:-1]]
    assert copied
    for source in copied:
        assert any(name.is_relative_to(source) for name in context), source
    used = {*copied, str(DOCKERFILE.relative_to(ROOT)), ".dockerignore"}
    assert not [str(name) for name in context if not any(name.is_relative_to(source) for source in used)]


def test_the_image_runs_the_python_that_the_zips_are_made_for() -> None:
    [base] = re.findall(r"^FROM (\S+)$", DOCKERFILE.read_text(), re.M)
    assert base == f"public.ecr.aws/lambda/python:{LAMBDA.python}"


def test_its_requirements_bring_whatever_its_handler_imports() -> None:
    imported = {module.partition(".")[0] for module, _ in reached(ROOT, ["lambdas.stitch"])}
    foreign = imported - {*OURS, *sys.stdlib_module_names, *NOT_REACHED_BY_STITCH}
    brought = _closure(REQUIREMENTS / "lambda-stitch.txt")
    distributions = metadata.packages_distributions()
    assert len(foreign) > 5
    assert [name for name in foreign if not brought & {_canonical(one) for one in distributions[name]}] == []


def test_stitch_is_an_image_for_graviton_or_the_one_that_is_named(templates: Templates) -> None:
    stitch = templates.by_path()["api/Functions/stitch/Resource"]["Properties"]
    assert stitch["PackageType"] == "Image"
    assert stitch["Architectures"] == ["arm64"]
    stack = cdk.Stack(cdk.App(), "Named")
    uri = "111122223333.dkr.ecr.eu-central-1.amazonaws.com/tessera/stitch:7"
    function = lambda_.DockerImageFunction(stack, "Stitch", code=make_image_code(stack, "Stitch", "stitch", uri))
    resource = function.node.default_child
    assert isinstance(resource, lambda_.CfnFunction)
    assert str(stack.resolve(resource.code)).count("tessera/stitch:7") == 1


def _closure(requirements: Path) -> set[str]:
    """Names of all distributions that come with a requirements file, as this environment knows them."""
    lines = (line.partition("#")[0].strip() for line in requirements.read_text().splitlines())
    wanted, found = [Requirement(line) for line in lines if line], set[str]()
    while wanted:
        one = wanted.pop()
        name = _canonical(one.name)
        if name in found and not one.extras:
            continue
        found.add(name)
        for text in metadata.requires(one.name) or []:
            needed = Requirement(text)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in ("", *one.extras)):
                wanted.append(needed)
    return found


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
