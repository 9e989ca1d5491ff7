"""An installation is lost with all of its data, and comes back next to buckets of other names."""

from __future__ import annotations

import pytest

from local.drill.__main__ import make_count_table, make_step_table
from local.drill.rehearsal import STEPS, Drill, run_drill
from tests.prerequisites import EMULATOR
from tests.slides import write_svs

pytestmark = [pytest.mark.stack, pytest.mark.exhaustive, EMULATOR.mark]


@pytest.fixture(scope="module")
def drill(tmp_path_factory: pytest.TempPathFactory) -> Drill:
    folder = tmp_path_factory.mktemp("drill")
    width, height = 20 * 256, 12 * 256  # 240 tiles: 30 shards
    slide = write_svs(folder / "a.svs", width=width, height=height, levels=(1, 4), tissue=(0, 0, width, height))
    drill = Drill()
    run_drill(folder / "stacks", [slide], drill)
    assert [path.name for path in folder.iterdir() if path.name != "stacks"] == ["a.svs"]
    assert not (folder / "stacks/lost").exists()
    return drill


def test_the_backup_holds_every_record(drill: Drill) -> None:
    assert drill.restored == drill.before
    assert drill.before["jobs"] == {"COMPLETED": 1, "FAILED": 1, "LIVE": 2}
    assert drill.before["slides"] == {"READY": 1, "REJECTED": 1, "UPLOADING": 1}


def test_after_the_recovery_all_but_the_unfinished_upload_are_there(drill: Drill) -> None:
    assert drill.after == {**drill.before, "slides": {"DELETED": 1, "READY": 1, "REJECTED": 1}}
    assert drill.recovered.findings == []
    assert drill.recovered.counts["etags_changed"] > 0


def test_live_jobs_end_with_the_results_of_a_calm_one(drill: Drill) -> None:
    assert (drill.recovered.counts["restarted"], drill.finished) == (2, 2)


def test_each_step_is_timed_and_both_tables_are_printed(drill: Drill) -> None:
    assert tuple(drill.seconds) == STEPS
    assert make_step_table(drill).row_count == len(STEPS)
    assert make_count_table(drill).row_count == len(drill.before)
