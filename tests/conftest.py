"""What the whole suite shares, and how it is spread over processes (`pytest_xdist_make_scheduler`)."""

from __future__ import annotations

import functools
import gc
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from botocore.loaders import JSONFileLoader
from hypothesis import HealthCheck, settings

from tests.prerequisites import NODE_FOR_CDK, WITH_CDK

# How long an example takes says how busy the machine is, not what the code does.
settings.register_profile("tessera", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tessera")

#: moto lists Amazon's machine images anew for each of its accounts, for a quarter of a second. No test starts one.
os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"
#: Each session of boto3 reads and parses its services' descriptions anew. One reading serves all tests of a process.
_read_description = functools.cache(JSONFileLoader().load_file)
JSONFileLoader.load_file = lambda _self, path: _read_description(path)

#: The stack's services, which run on Linux alone: elsewhere the tests of the wheel's packages do without.
pytest_plugins = [
    "tests.offline.watching",
    *(["tests.postgres", "tests.ministack"] if sys.platform == "linux" else []),
]

#: Folders whose tests share a stack, a browser, a synthesized app or a wheel (whose build writes into the tree). They
#: come first, so that what is left at the end is small.
TOGETHER = (
    *("tests/chaos/", "tests/web/", "tests/emulated/", "tests/stack/"),
    *("tests/upgrades/", "tests/cdk/", "tests/wheel/"),
)

#: Modules and folders that `make test` leaves out: many cases of what another test shows by one, or more than 15 s
#: each in a whole run (`pytest --junitxml`). What is left covers each folder, the embedded stack with one job
#: (stack/test_smoke.py), and the page in a browser (web/test_whole_way.py). A single test is marked where it stands.
EXHAUSTIVE = (
    *("tests/cases/", "tests/contracts/", "tests/emulated/test_deployment.py", "tests/wheel/"),
    *("tests/adapters/postgres/test_like_rds.py", "tests/adapters/postgres/test_races.py"),
    "tests/adapters/s3/test_range_faults.py",
    *("tests/benchmarks/test_keda_scaling.py", "tests/benchmarks/test_many_devices.py"),
    "tests/benchmarks/test_peers.py",
    "tests/cdk/test_bundling.py",
    *("tests/cdk/test_determinism.py", "tests/cdk/test_faults.py", "tests/cdk/test_kubernetes_schemas.py"),
    "tests/gpu_worker/trials/test_trials.py",
    *("tests/inference/models/checks/test_metamorphic.py", "tests/inference/models/making/test_making.py"),
    *("tests/inference/models/onnx/test_onnx_packages.py", "tests/inference/models/test_encoders.py"),
    *("tests/inference/models/test_fidelity.py", "tests/inference/models/test_many_packages.py"),
    *("tests/inference/models/test_networks.py", "tests/inference/models/test_wsinfer_goldens.py"),
    *("tests/local/processes/test_daemon.py", "tests/local/test_postgres.py"),
    *("tests/tessera/local_run/test_interruption.py", "tests/tessera/local_run/test_multi_gpu.py"),
    *("tests/tessera/models/test_models.py", "tests/tessera/test_without_posix.py"),
    "tests/tessera/watching/test_watch_command.py",
    "tests/wsi/inspection/test_deidentifying.py",
    "tests/wsi/slide/deidentification/test_deidentification.py",
    *("tests/wsi/test_slide_outcomes.py", "tests/wsi/viewer/test_view_tiles.py"),
)
EXHAUSTIVE_BUT = {"tests/stack/": "test_smoke.py", "tests/web/": "test_whole_way.py"}


def is_exhaustive(nodeid: str) -> bool:
    """Return whether `make test` leaves the test out because of where it is."""
    return nodeid.startswith(EXHAUSTIVE) or any(
        nodeid.startswith(folder) and not nodeid.startswith(folder + kept) for folder, kept in EXHAUSTIVE_BUT.items()
    )


def group_of(nodeid: str) -> str:
    """Return the name of the tests that run in one process: a folder that shares much, else a module."""
    return next((folder for folder in TOGETHER if nodeid.startswith(folder)), nodeid.partition("::")[0])


class _ModuleWithoutNode(pytest.Module):
    def collect(self) -> NoReturn:
        pytest.skip(NODE_FOR_CDK.reason, allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Keep pytest from importing modules that import the CDK where there is no Node for it."""
    if module_path.relative_to(parent.config.rootpath).as_posix().startswith(WITH_CDK) and NODE_FOR_CDK.should_skip():
        return _ModuleWithoutNode.from_parent(parent, path=module_path)
    return None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect thousands of tests without looking through them for garbage: that was half of the time, and again a part
    of it in each later search."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if is_exhaustive(item.nodeid):
            item.add_marker(pytest.mark.exhaustive)
    if config.pluginmanager.hasplugin("xdist"):
        items.sort(key=lambda item: not item.nodeid.startswith(TOGETHER))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return a scheduler that gives a process one group at a time.

    xdist's own groups (`--dist loadgroup`) have no effect with pytest 9.2, which no longer reads `_nodeid`.
    """
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return GroupScheduling(config, log)
