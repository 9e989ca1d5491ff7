"""Which models a tenant's names mean, among its own and the installation's."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wsi.errors import Conflict
from wsi.models.owners import check_name, select_usable
from wsi.records.models import ModelVersion

TENANT = UUID(int=1)


@st.composite
def owned_models(draw: st.DrawFn) -> list[ModelVersion]:
    """Versions as a ledger holds them: each name of an owner has one default."""
    places = draw(st.sets(st.tuples(st.sampled_from([None, TENANT]), st.sampled_from("ab"), st.sampled_from("123"))))
    found: list[ModelVersion] = []
    for owner, name in sorted({(owner, name) for owner, name, _ in places}, key=str):
        versions = sorted(version for its, one, version in places if (its, one) == (owner, name))
        default = draw(st.sampled_from(versions))
        for version in versions:
            digest = f"{owner}-{name}-{version}"
            made = ModelVersion(name=name, version=version, digest=digest, card={}, package_uri=None, owner=owner)
            found.append(replace(made, is_default=version == default))
    return draw(st.permutations(found))


@settings(max_examples=60)
@given(owned_models())
def test_each_name_and_version_means_one_model_and_each_name_has_one_default(models: list[ModelVersion]) -> None:
    usable = select_usable(models)
    places = [(model.name, model.version) for model in usable]
    assert places == sorted({(model.name, model.version) for model in models})
    own = {(model.name, model.version) for model in models if model.owner is not None}
    assert {(model.name, model.version) for model in usable if model.owner is not None} == own
    for name in {model.name for model in usable}:
        (default,) = [model for model in usable if model.name == name and model.is_default]
        of_owner = [model for model in models if model.name == name and model.is_default]
        assert default.digest == max(of_owner, key=lambda model: model.owner is not None).digest


def test_a_tenant_goes_on_under_a_name_that_the_installation_took_later() -> None:
    check_name([("1", TENANT), ("2", None)], "net", "3")
    check_name([("1", TENANT), ("2", None)], "net", "2")
    check_name([], "net", "1")
    with pytest.raises(Conflict, match="another name or version"):
        check_name([("1", TENANT), ("2", None)], "net", "1")
    with pytest.raises(Conflict, match="belongs to the installation"):
        check_name([("2", None)], "net", "1")
