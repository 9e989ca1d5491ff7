"""The page's files: what is kept how long, who copies them, what they refer to."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3

from cdk.deployment import Deployment
from cdk.installation import Installation
from cdk.web.page_files import PLAIN, PageFiles, choose_folder, describe_missing_page
from tests.cdk.templates import ROOT, Templates


def files_of(folder: Path, outdir: Path) -> dict[str, dict[str, Any]]:
    """The deployments of a page's folder, by what they leave out or put in."""
    stack = cdk.Stack(cdk.App(outdir=str(outdir)), "Page")
    PageFiles(
        stack,
        "Files",
        bucket=s3.Bucket(stack, "Bucket"),
        config={"region": "eu-central-1"},
        log_group=logs.LogGroup(stack, "Logs"),
        folder=folder,
    )
    found = assertions.Template.from_stack(stack).find_resources("Custom::CDKBucketDeployment")
    return {_name_copy(one["Properties"]): one["Properties"] for one in found.values()}


def _name_copy(properties: dict[str, Any]) -> str:
    return {("assets/*",): "hashed", ("index.html",): "index"}.get(tuple(properties.get("Include", ())), "rest")


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """As Vite leaves it."""
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>built</title>")
    (folder / "assets" / "app-8f2c.js").write_text("1")
    return folder


def test_hashed_files_are_kept_for_ever_and_all_others_asked_for_again(built: Path, tmp_path: Path) -> None:
    files = files_of(built, tmp_path / "out")
    assert files["hashed"]["SystemMetadata"] == {"cache-control": "max-age=31536000, immutable"}
    assert files["hashed"]["Include"] == ["assets/*"]
    assert files["rest"]["SystemMetadata"] == {"cache-control": "no-cache"}
    assert files["rest"]["Exclude"] == ["assets/*", "index.html"]
    assert files["index"]["SystemMetadata"] == {"cache-control": "no-cache"}


def test_a_page_that_is_open_keeps_the_files_of_its_release(built: Path, tmp_path: Path) -> None:
    files = files_of(built, tmp_path / "out")
    assert {name: properties["Prune"] for name, properties in files.items()} == {
        "hashed": False,
        "rest": True,
        "index": False,
    }


def test_no_lifecycle_takes_files_of_the_release_that_is_live(templates: Templates) -> None:
    """It goes by age, and a release may be older than any number of days."""
    assert "LifecycleConfiguration" not in templates.resource("AWS::S3::Bucket", "web")["Properties"]


def test_index_html_is_replaced_after_all_that_it_names(templates: Templates) -> None:
    copies = templates.resources("Custom::CDKBucketDeployment", "web")
    [last] = [id for id, copy in copies.items() if copy["Properties"].get("Include") == ["index.html"]]
    assert copies.keys() - {last} <= set(copies[last]["DependsOn"])
    for copy in (copies[id]["Properties"] for id in copies.keys() - {last}):
        assert "index.html" in copy["Exclude"] or copy["Include"] == ["assets/*"]


def test_without_hashed_files_nothing_is_kept_for_ever(tmp_path: Path) -> None:
    assert set(files_of(PLAIN, tmp_path / "out")) == {"rest", "index"}


def test_the_built_page_is_taken_when_there_is_one(built: Path, tmp_path: Path) -> None:
    assert choose_folder(built) == built
    assert choose_folder(tmp_path / "missing") == PLAIN


def test_a_synth_says_that_the_page_is_not_built(built: Path, tmp_path: Path) -> None:
    assert describe_missing_page(built) is None
    assert "make web" in (describe_missing_page(tmp_path / "missing") or "")


def test_the_function_that_copies_the_page_has_exact_rights_and_its_own_log(templates: Templates) -> None:
    actions = {
        action
        for policy in templates.resources("AWS::IAM::Policy", "web").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    }
    assert {action for action in actions if action.startswith("s3:")} == {
        *("s3:GetObject", "s3:ListBucket", "s3:GetBucketTagging", "s3:PutObject", "s3:DeleteObject")
    }
    function = templates.resource("AWS::Lambda::Function", "web")["Properties"]
    assert function["LoggingConfig"]["LogGroup"]["Ref"] in templates.resources("AWS::Logs::LogGroup", "web")


def test_the_page_learns_its_addresses_from_config_json(tmp_path: Path) -> None:
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    app = cdk.App(
        context={**context, "aws:cdk:bundling-stacks": []},
        outdir=str(tmp_path),
        builtin_cloud_formation_validation=False,
    )
    Installation(app, Deployment.from_context({"environment": "dev"}))
    app.synth()
    (config,) = [json.loads(re.sub("<<marker:[^>]+>>", '"?"', p.read_text())) for p in tmp_path.rglob("config.json")]
    assert set(config) == {"apiUrl", "region", "userPoolId", "clientId", "signInUrl", "realtimeUrl"}
    assert (config["apiUrl"], config["region"]) == ("/api/v1/wsi", "eu-central-1")


# --- the page of text


class Page(HTMLParser):
    """What a page refers to, and what it holds inline."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.refers_to: list[str] = []
        self.inline: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.refers_to += [value or "" for name, value in attrs if name in ("href", "src")]
        self.inline += [tag for _ in range(tag in ("script", "style"))]
        self.inline += [name for name, _ in attrs if name == "style" or name.startswith("on")]


def test_the_page_of_text_is_allowed_by_its_own_policy_and_its_links_lead_somewhere() -> None:
    page = Page((PLAIN / "index.html").read_text())
    assert page.inline == []
    paths = json.loads((ROOT / "docs" / "openapi.json").read_text())["paths"]
    known = {f"/{file.name}" for file in PLAIN.iterdir()} | set(paths) | {"/config.json", "data:,"}
    assert [target for target in page.refers_to if target not in known] == []
