"""Every file of ../shared/slides and every generated slide ends as `slide_outcomes.toml` says: with these pixels, in
bounded time and memory, on this disk and over HTTP ranges. A slide that is not in the table fails, and so does an entry
without its slide."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.shared_slides import SHARED_SLIDES
from tests.slide_server import serve
from tests.wsi.slide_fixtures import FIXTURES, write_fixtures
from tests.wsi.slide_outcomes import WAYS, Expectation, Finding, expectations, walk
from wsi.errors import RejectReason

FOLDERS: Final = ("real", "dicom", "broken", "odd-tiff", "pictures", "derived")
#: Of clock or CPU, whichever is less, to open and examine. The slowest (address.tif) takes 1.3 on quiet cores, where 2
#: are aimed at; 2.4 were seen beside other tests on the same two cores.
SECONDS: Final = 5.0
PEAK: Final = 500 * 1024**2  #: bytes of resident memory of the whole process

SHARED = expectations("shared")
GENERATED = expectations("generated")
Findings = Mapping[str, list[Finding]]


@pytest.fixture(scope="module")
def shared_findings() -> Findings:
    if not SHARED_SLIDES.is_dir():
        pytest.skip("the folder ../shared/slides is absent")
    with serve(SHARED_SLIDES) as url:
        return walk(SHARED_SLIDES, url, SHARED)


@pytest.fixture(scope="module")
def generated_findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    folder = tmp_path_factory.mktemp("slides")
    write_fixtures(folder)
    with serve(folder) as url:
        return walk(folder, url, GENERATED)


@pytest.mark.parametrize("name", SHARED)
def test_a_shared_file_ends_as_the_table_says(name: str, shared_findings: Findings):
    _check(SHARED[name], shared_findings[name])


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_slide_ends_as_the_table_says(name: str, generated_findings: Findings):
    _check(GENERATED[name], generated_findings[name])


def test_the_table_has_one_entry_for_each_slide():
    assert set(GENERATED) == set(FIXTURES)
    if not SHARED_SLIDES.is_dir():
        pytest.skip("the folder ../shared/slides is absent")
    files = (path for folder in FOLDERS for path in (SHARED_SLIDES / folder).rglob("*") if path.is_file())
    assert {path.relative_to(SHARED_SLIDES).as_posix() for path in files} == set(SHARED)


@pytest.mark.parametrize("name", {**SHARED, **GENERATED})
def test_an_entry_names_a_known_outcome_and_an_oracle_where_there_are_pixels(name: str):
    expected = {**SHARED, **GENERATED}[name]
    if expected.outcome in ("native", "scratch"):
        assert expected.oracle != "none" or expected.note, "pixels without an oracle need a reason"
    else:
        assert expected.outcome.removeprefix("rejected:") in set(RejectReason)
        assert expected.oracle == "none"


def _check(expected: Expectation, findings: list[Finding]) -> None:
    assert [finding.way for finding in findings] == list(WAYS), "the slide ended the process that read it"
    for finding in findings:
        assert finding.outcome == expected.outcome, f"{finding.way}: {finding.sentence}"
        assert finding.seconds < SECONDS
        assert finding.peak < PEAK
        if expected.outcome.startswith("rejected:"):
            assert finding.sentence.endswith(".")
            continue
        assert finding.levels == expected.levels
        # Over HTTP the pixels are held against the local ones: equal, whatever the oracle's tolerance.
        allowed = expected.tolerance if finding.way == "local" else 0
        assert all(0 < difference <= allowed for *_, difference in finding.differences), finding
        assert (finding.compared > 0) == (expected.oracle != "none")
        assert (finding.unreadable > 0) == (expected.damaged and finding.way == "local")


def test_the_walk_finds_a_slide_that_ends_its_process_and_goes_on_behind_it(tmp_path: Path):
    names = ("before.svs", "fifo.svs", "after.svs")
    for name in names:
        (tmp_path / name).write_bytes(b"no slide")
    (tmp_path / "fifo.svs").unlink()  # its absence is an error that nobody in the walk expects
    found = walk(tmp_path, "http://127.0.0.1:9", {name: Expectation(outcome="") for name in names})
    assert found["fifo.svs"] == []
    assert [finding.outcome for finding in found["before.svs"] if finding.way == "local"] == ["rejected:not_a_slide"]
