"""The scan for secrets, with the scanner itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prerequisites import SECRETS_SCANNER
from tools.security.__main__ import find_secrets

pytestmark = SECRETS_SCANNER.mark

#: In two parts, so that this file holds none.
KEY = "AKIA" + "Z7QK2XN4VJ3WDLT5"
SECRET = "q8Xk2nVb7Lr0Tz5" + "Wm3Yc9Ds1Fg6Hj4Pa8Ru2Ev0B"


@pytest.mark.parametrize("name", ["settings.txt", "app/[slide] (1).ts", "deploy.yml"])
def test_a_secret_is_found_in_a_file_of_any_name_and_not_printed(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"AWS_ACCESS_KEY_ID={KEY}\nAWS_SECRET_ACCESS_KEY={SECRET}\n")
    said = find_secrets(tmp_path, [name])
    assert path.name in said
    assert SECRET not in said


def test_the_names_of_secrets_are_none(tmp_path: Path) -> None:
    (tmp_path / "settings.txt").write_text("AWS_SECRET_ACCESS_KEY comes from the environment\n")
    assert find_secrets(tmp_path, ["settings.txt"]) == ""
