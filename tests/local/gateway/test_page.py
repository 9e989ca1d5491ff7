"""The page beside the API: what is served at which path, and what browsers are told."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from local.gateway.front_page import render_front_page
from local.gateway.http_api import make_api_app
from local.gateway.http_server import HttpServer
from local.gateway.page import WebPage

ROOT = Path(__file__).parents[3]
CONFIG = {"apiUrl": "/api/v1/wsi", "signIn": "password"}


def api(event, _):
    return {"statusCode": 200, "headers": {"Content-Type": "application/json"}, "body": f'"{event["path"]}"'}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "dist"


@pytest.fixture
def built(folder):
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>built</title>")
    (folder / "assets" / "app-8f2c.js").write_text("export {}")
    (folder.parent / "secret.txt").write_text("not for everybody")
    return folder


@pytest.fixture
def get(folder):
    page = WebPage(
        config=CONFIG,
        connect=("http://emulator:1", "ws://push:2"),
        images=("http://emulator:1",),
        addresses=lambda: render_front_page({"API": "http://127.0.0.1:1/api"}, {"paths": {}}),
        folder=folder,
    )
    server = HttpServer("api", lambda: make_api_app(api, api, public_paths=["/api/v1/wsi/health"], page=page.respond))
    server.start()
    yield lambda path, **how: httpx.get(server.url + path, **how)
    server.stop()


@pytest.mark.parametrize("path", ["/", "/slides", "/jobs/018f", "/jobs/new?slide=1"])
def test_paths_without_an_extension_get_the_built_page(built, get, path):
    answer = get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "built" in answer.text
    assert answer.headers["cache-control"] == "no-cache"


def test_hashed_files_are_kept_for_ever(built, get):
    answer = get("/assets/app-8f2c.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "immutable" in answer.headers["cache-control"]


def test_the_page_may_talk_to_its_own_origin_the_emulator_and_the_push_server_alone(built, get):
    policy = get("/").headers["content-security-policy"]
    assert "connect-src 'self' http://emulator:1 ws://push:2;" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    "path", ["/missing.js", "/assets/missing.css", "/..%2fsecret.txt", "/assets/..%2f..%2fsecret.txt"]
)
def test_files_that_are_not_the_pages_are_missing(built, get, path):
    assert get(path).status_code == 404


@pytest.mark.parametrize("path", ["/api", "/api/v1/wsi/nothing"])
def test_what_belongs_to_the_api_is_never_answered_with_the_page(built, get, path):
    assert get(path).status_code == 401
    assert get("/api/v1/wsi/health").json() == "/api/v1/wsi/health"


def test_while_nothing_is_built_the_root_lists_the_addresses(get):
    assert "Tessera runs on this machine" in get("/").text
    assert get("/slides").status_code == 401


def test_the_list_of_addresses_and_the_configuration_are_always_there(built, get):
    assert "Tessera runs on this machine" in get("/stack.html").text
    assert get("/config.json").json() == CONFIG


def test_the_local_configuration_has_the_fields_of_the_deployed_one():
    def fields(source: str, opening: str) -> set[str]:
        block = source.split(opening, 1)[1].split("}", 1)[0]
        return set(re.findall(r'"(\w+)":', block))

    deployed = fields((ROOT / "cdk/web/stack.py").read_text(), "config={")
    assert deployed
    assert fields((ROOT / "local/stack.py").read_text(), "config={") == {*deployed, "signIn"}
