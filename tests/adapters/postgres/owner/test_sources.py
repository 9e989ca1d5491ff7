"""Which addresses a source covers, in Python and in the database alike."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from adapters.postgres.owner.seeding import SeedTenant
from local.postgres import OWNER
from tests.postgres import Database
from wsi.errors import Invalid, SourceOutside
from wsi.sources.source import Source, find_source, make_source

#: Parts of keys that try to lead elsewhere, or only seem to.
PARTS = st.sampled_from(
    (
        *("labs", "a", "ab", "A", "a ", "", ".", "..", "..."),
        *("%2e%2e", "a%2F", "ä", "a\u0308", "\uff0e\uff0e", "a\t", "\x7f"),
    )
)
PREFIXES = st.lists(st.sampled_from(["labs", "a", "ab", "x.y", "..."]), max_size=3).map(
    lambda parts: "".join(f"{part}/" for part in parts)
)
KEYS = st.lists(PARTS, min_size=1, max_size=5).map("/".join)


@pytest.fixture
def owner(database: Database) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database.server.make_dsn(OWNER, database.name)) as connection:
        yield connection


@pytest.fixture
def tenant(database: Database) -> UUID:
    return database.seed(tenants=[SeedTenant(name="hospital")])["hospital"]


@pytest.fixture
def api(database: Database) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database.api_dsn) as connection:
        yield connection


@given(prefix=PREFIXES, keys=st.lists(KEYS, min_size=1, max_size=40))
@example(prefix="labs/a/", keys=["labs/ab/x.svs", "labs/a/x.svs", "labs/a", "labs/a/", "labs/a/../b", "labs/a/.."])
@example(prefix="", keys=["x.svs", "", "/", "/x", "..", "x/..", "x\n"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_python_and_the_database_cover_the_same_addresses_and_none_outside(api: psycopg.Connection, prefix, keys):
    source = Source("lab-slides", prefix)
    uris = [f"s3://{bucket}/{key}" for bucket in ("lab-slides", "lab-slide") for key in keys]
    found = api.execute(
        "SELECT uri, tessera.covers(%s, %s, uri) FROM unnest(%s::text[]) AS asked (uri)",
        (source.bucket, source.prefix, uris),
    ).fetchall()
    assert found == [(uri, source.contains(uri)) for uri in uris]
    for uri, covered in found:
        if covered:
            parts = uri.removeprefix("s3://lab-slides/").split("/")
            assert parts[: prefix.count("/")] == prefix.split("/")[:-1]
            assert not {"", ".", ".."} & set(parts)


@given(bucket=st.text(max_size=8) | st.just("lab-slides"), prefix=st.text('ab/.*?$\\"ä\n ', max_size=6) | PREFIXES)
@example(bucket="lab-slides", prefix="labs")
@example(bucket="lab-slides", prefix="/")
@example(bucket="lab-slides", prefix="a" * 256 + "/")
@example(bucket="lab-slides\n", prefix="")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_database_keeps_the_sources_that_can_be_made_and_no_others(
    owner: psycopg.Connection, tenant: UUID, bucket, prefix
):
    try:
        make_source(bucket, prefix)
        is_made = True
    except Invalid:
        is_made = False
    if "\0" in bucket or any("\ud800" <= letter <= "\udfff" for letter in bucket):
        assert not is_made
        return
    try:
        owner.execute("INSERT INTO sources VALUES (%s, %s, %s)", (tenant, bucket, prefix))
        is_kept = True
    except psycopg.errors.CheckViolation:
        is_kept = False
    owner.rollback()
    assert is_kept == is_made


@pytest.mark.parametrize("bucket", ["*", "lab-*", "s3://lab", "Lab", "a", "lab/x", "", "-lab", "lab\n"])
def test_a_bucket_is_named_exactly(bucket):
    with pytest.raises(Invalid, match="bucket's name alone"):
        make_source(bucket, "")


@pytest.mark.parametrize(
    "prefix",
    ["labs/a", "/", "/labs/", "labs//a/", "labs/../", "./", "labs/*/", "l?bs/", "${x}/", "Präparate/", "a\n/", 'a"/'],
)
def test_a_prefix_is_a_folder_and_no_pattern(prefix):
    with pytest.raises(Invalid, match="ends with a slash"):
        make_source("lab-slides", prefix)


def test_the_narrowest_source_is_found():
    sources = (Source("b-slides"), Source("lab-slides"), Source("lab-slides", "a/b/"), Source("lab-slides", "a/"))
    assert find_source(sources, "s3://lab-slides/a/b/c.svs") == Source("lab-slides", "a/b/")
    assert find_source(sources, "s3://lab-slides/a/c.svs") == Source("lab-slides", "a/")
    with pytest.raises(SourceOutside):
        find_source(sources[:1], "s3://lab-slides/a/c.svs")
