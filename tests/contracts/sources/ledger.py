"""What every ledger does about the sources of its tenants."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tests.contracts.ledger_world import LedgerWorld
from wsi.errors import SourceOutside
from wsi.records.identity import Actor
from wsi.records.slides import Slide, SlideFile
from wsi.sources.source import Source

WHOLE = Source("lab-slides")
PART = Source("lab-slides", "labs/a/")


def register(world: LedgerWorld, *uris: str, actor: Actor | None = None) -> Slide:
    files = [SlideFile(name="x.svs", uri=uri, size=1, etag="e") for uri in uris]
    return world.tenants.register_slide(actor or world.actor, uuid4(), "x", files, mpp=None, digest="d")


class SourcesLedgerContract:
    def test_a_tenant_has_no_sources_until_an_operator_gives_it_some(self, world: LedgerWorld) -> None:
        assert world.tenants.list_sources(world.actor.tenant) == ()
        world.set_sources(world.actor, PART, WHOLE)
        for ledger in (world.tenants, world.system):
            assert set(ledger.list_sources(world.actor.tenant)) == {WHOLE, PART}
            assert ledger.list_sources(world.other.tenant) == ()

    @pytest.mark.parametrize(
        "uri",
        [
            "s3://lab-slides/labs/ab/x.svs",
            "s3://lab-slides/labs/a",
            "s3://lab-slides/labs/a/",
            "s3://lab-slides/labs/b/../a/x.svs",
            "s3://lab-slides/labs/a/../b/x.svs",
            "s3://lab-slides/labs//a/x.svs",
            "s3://lab-slides/labs%2Fa/x.svs",
            "s3://lab-slides/Labs/a/x.svs",
            "s3://lab-slides2/labs/a/x.svs",
            "S3://lab-slides/labs/a/x.svs",
            "s3://other/s3://lab-slides/labs/a/x.svs",
        ],
    )
    def test_a_slide_outside_the_tenants_sources_is_not_registered(self, world: LedgerWorld, uri: str) -> None:
        world.set_sources(world.actor, PART)
        with pytest.raises(SourceOutside):
            register(world, uri)
        with pytest.raises(SourceOutside):
            register(world, "s3://lab-slides/labs/a/x.svs", uri)
        assert world.tenants.list_slides(world.actor, q=None, state=None, cursor=None, limit=9).items == ()
        assert world.audit_lines(world.actor)[-1:] in ([], [("owner", "source.add", PART.uri)])

    def test_a_slide_within_the_tenants_sources_is_registered(self, world: LedgerWorld) -> None:
        world.set_sources(world.actor, PART, Source("whole"))
        register(world, "s3://lab-slides/labs/a/x.svs", "s3://lab-slides/labs/a/x/Präparat 1%2F.dat")
        register(world, "s3://whole/x.svs")

    def test_a_tenant_can_not_register_what_lies_in_the_source_of_another(self, world: LedgerWorld) -> None:
        world.set_sources(world.actor, WHOLE)
        register(world, "s3://lab-slides/x.svs")
        with pytest.raises(SourceOutside):
            register(world, "s3://lab-slides/x.svs", actor=world.other)

    def test_a_removed_source_covers_no_new_slide_and_leaves_the_known_ones(self, world: LedgerWorld) -> None:
        world.set_sources(world.actor, WHOLE)
        slide = register(world, "s3://lab-slides/x.svs")
        world.set_sources(world.actor)
        with pytest.raises(SourceOutside):
            register(world, "s3://lab-slides/x.svs")
        assert world.tenants.get_slide(world.actor, slide.id) == slide
