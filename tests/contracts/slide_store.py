"""What every `SlideStore` does, short of range reads. A suite gives `store` (of tessera-slides; customer-bucket is
allowed; `list_sources` is this module's), `put_part(url, data) -> status` and `put_object(uri, data)`."""

from __future__ import annotations

import hashlib
from uuid import UUID

import pytest

from wsi import keys
from wsi.errors import Forbidden, SourceChanged, SourceMissing, SourceOutside
from wsi.slide.ranges import ByteRange
from wsi.sources.source import Source

TENANT = UUID(int=1)


def list_sources(tenant: UUID) -> tuple[Source, ...]:
    """One tenant has a folder, and what an operator gave it by mistake."""
    if tenant != TENANT:
        return ()
    return (Source("customer-bucket", "folder/"), Source("not-allowed"), Source("tessera-slides"))


PART = 5 * 1024**2  #: the least that S3 takes for any part but the last


def upload(store, put_part, uri: str, *chunks: bytes) -> str:
    upload_id = store.begin_upload(uri)
    for n, data in enumerate(chunks, start=1):
        digest = hashlib.sha256(data).hexdigest()
        url = store.presign_part(uri, upload_id, n=n, size=len(data), sha256=digest, seconds=300)
        assert put_part(url, data) == 200
    return upload_id


class SlideUploadsContract:
    """Multipart uploads with a checksum a part."""

    def test_parts_make_the_object(self, store, put_part):
        uri = store.make_uri("t/slides/s/00000")
        first, second = b"a" * PART, b"b" * 1000
        upload_id = upload(store, put_part, uri, first, second)
        parts = store.list_parts(uri, upload_id)
        assert [(part.n, part.size, part.sha256) for part in parts] == [
            (1, PART, hashlib.sha256(first).hexdigest()),
            (2, 1000, hashlib.sha256(second).hexdigest()),
        ]
        stored = store.complete_upload(uri, upload_id, parts)
        assert stored.size == PART + 1000
        assert stored == store.head(uri)
        digests = hashlib.sha256(first).digest() + hashlib.sha256(second).digest()
        assert stored.sha256 == f"{hashlib.sha256(digests).hexdigest()}-2"

    def test_completing_twice_gives_the_same_answer(self, store, put_part):
        uri = store.make_uri("twice")
        upload_id = upload(store, put_part, uri, b"x" * 10)
        parts = store.list_parts(uri, upload_id)
        assert store.complete_upload(uri, upload_id, parts) == store.complete_upload(uri, upload_id, parts)

    def test_a_completed_upload_has_no_parts_to_list(self, store, put_part):
        uri = store.make_uri("done")
        upload_id = upload(store, put_part, uri, b"x")
        store.complete_upload(uri, upload_id, store.list_parts(uri, upload_id))
        with pytest.raises(SourceMissing):
            store.list_parts(uri, upload_id)

    def test_a_part_uploaded_again_counts_once(self, store, put_part):
        uri = store.make_uri("again")
        upload_id = upload(store, put_part, uri, b"first")
        digest = hashlib.sha256(b"second").hexdigest()
        put_part(store.presign_part(uri, upload_id, n=1, size=6, sha256=digest, seconds=300), b"second")
        (part,) = store.list_parts(uri, upload_id)
        assert (part.size, part.sha256) == (6, digest)

    def test_aborting_is_idempotent_and_leaves_nothing(self, store, put_part):
        uri = store.make_uri("aborted")
        upload_id = upload(store, put_part, uri, b"x")
        store.abort_upload(uri, upload_id)
        store.abort_upload(uri, upload_id)
        with pytest.raises(SourceMissing):
            store.list_parts(uri, upload_id)
        with pytest.raises(SourceMissing):
            store.complete_upload(uri, upload_id, ())
        with pytest.raises(SourceMissing):
            store.head(uri)

    def test_a_part_is_written_or_copied_from_another_object(self, store, put_part):
        source, uri = store.make_uri("came"), store.make_uri("came-clean")
        chunks = (b"a" * PART, b"b" * PART, b"c" * 1000)
        came = upload(store, put_part, source, *chunks)
        etag = store.complete_upload(source, came, store.list_parts(source, came)).etag
        upload_id = store.begin_upload(uri)
        store.copy_part(uri, upload_id, n=3, source=source, etag=etag, byte_range=ByteRange(2 * PART, 2 * PART + 1000))
        store.write_part(uri, upload_id, n=2, data=b"B" * PART)
        store.copy_part(uri, upload_id, n=1, source=source, etag=etag, byte_range=ByteRange(0, PART))
        parts = store.list_parts(uri, upload_id)
        digests = [hashlib.sha256(data) for data in (chunks[0], b"B" * PART, chunks[2])]
        assert [part.sha256 for part in parts] == [digest.hexdigest() for digest in digests]
        stored = store.complete_upload(uri, upload_id, parts)
        composite = hashlib.sha256(b"".join(digest.digest() for digest in digests)).hexdigest()
        assert (stored.size, stored.sha256) == (2 * PART + 1000, f"{composite}-3")
        assert store.open(uri).read(ByteRange(PART - 1, PART + 1)) == b"aB"
        store.delete(source)
        assert store.open(uri).read(ByteRange(2 * PART - 1, 2 * PART + 1)) == b"Bc"

    def test_a_small_object_is_copied_as_a_whole(self, store, put_part):
        source, uri = store.make_uri("small"), store.make_uri("small-clean")
        came = upload(store, put_part, source, b"small")
        etag = store.complete_upload(source, came, store.list_parts(source, came)).etag
        upload_id = store.begin_upload(uri)
        store.copy_part(uri, upload_id, n=1, source=source, etag=etag, byte_range=None)
        assert store.complete_upload(uri, upload_id, store.list_parts(uri, upload_id)).size == 5

    def test_a_part_is_not_copied_from_another_version(self, store, put_part):
        source, uri = store.make_uri("changed"), store.make_uri("changed-clean")
        came = upload(store, put_part, source, b"first")
        store.complete_upload(source, came, store.list_parts(source, came))
        upload_id = store.begin_upload(uri)
        with pytest.raises(SourceChanged):
            store.copy_part(uri, upload_id, n=1, source=source, etag="0" * 32, byte_range=None)

    def test_no_part_comes_into_an_upload_that_is_over(self, store, put_part):
        source, uri = store.make_uri("over"), store.make_uri("over-clean")
        came = upload(store, put_part, source, b"data")
        etag = store.complete_upload(source, came, store.list_parts(source, came)).etag
        upload_id = store.begin_upload(uri)
        store.abort_upload(uri, upload_id)
        with pytest.raises(SourceMissing):
            store.write_part(uri, upload_id, n=1, data=b"data")
        with pytest.raises(SourceMissing):
            store.copy_part(uri, upload_id, n=1, source=source, etag=etag, byte_range=None)

    def test_deleting_is_idempotent_and_spares_longer_keys(self, store, put_part):
        for key in ("slide", "slide2"):
            uri = store.make_uri(key)
            upload_id = upload(store, put_part, uri, b"x")
            store.complete_upload(uri, upload_id, store.list_parts(uri, upload_id))
        store.delete(store.make_uri("slide"))
        store.delete(store.make_uri("slide"))
        with pytest.raises(SourceMissing):
            store.head(store.make_uri("slide"))
        assert store.head(store.make_uri("slide2")).size == 1

    def test_a_folder_is_deleted_with_all_that_is_below_it(self, store, put_part):
        for key in ("t/slides/s/00000", "t/slides/s/00000-clean", "t/slides/s2/00000"):
            uri = store.make_uri(key)
            upload_id = upload(store, put_part, uri, b"x")
            store.complete_upload(uri, upload_id, store.list_parts(uri, upload_id))
        assert store.delete_below("t/slides/s/") == 2
        assert store.delete_below("t/slides/s/") == 0
        for key in ("t/slides/s/00000", "t/slides/s/00000-clean"):
            with pytest.raises(SourceMissing):
                store.head(store.make_uri(key))
        assert store.head(store.make_uri("t/slides/s2/00000")).size == 1


class SlideAccessContract:
    """Which buckets are read and written."""

    def test_what_lies_outside_the_tenants_sources_is_refused(self, store, put_object):
        put_object("s3://customer-bucket/elsewhere/slide.svs", b"theirs")
        for uri in (
            "s3://somebody-elses/slide.svs",
            "s3://customer-bucket/elsewhere/slide.svs",
            "s3://customer-bucket/elsewhere/missing.svs",
            "s3://customer-bucket/folder2/slide.svs",
            "s3://customer-bucket/folder/../elsewhere/slide.svs",
        ):
            for call in (store.look_up, store.open, store.check_readable):
                with pytest.raises(SourceOutside):
                    call(uri, tenant=TENANT)
            with pytest.raises(SourceOutside):
                store.open(uri)
            for call in (store.head, store.begin_upload, store.delete):
                with pytest.raises(Forbidden):
                    call(uri)

    def test_a_source_counts_within_the_installations_buckets_alone(self, store):
        with pytest.raises(SourceOutside):
            store.look_up("s3://not-allowed/slide.svs", tenant=TENANT)

    def test_the_source_of_one_tenant_is_closed_to_another(self, store, put_object):
        uri = "s3://customer-bucket/folder/slide.svs"
        put_object(uri, b"theirs")
        store.check_readable(uri, tenant=TENANT)
        for call in (store.look_up, store.open, store.check_readable):
            with pytest.raises(SourceOutside):
                call(uri, tenant=UUID(int=2))

    def test_what_a_tenant_uploaded_is_open_to_it_alone_and_is_no_source(self, store, put_object):
        """Our bucket is listed here, and is somebody's source, by mistake."""
        ours = store.make_uri(keys.of_slide_file(TENANT, UUID(int=7), 0))
        put_object(ours, b"ours")
        store.check_readable(ours, tenant=TENANT)
        assert store.open(ours, tenant=TENANT).size == 4
        for call in (store.open, store.check_readable):
            with pytest.raises(SourceOutside):
                call(ours, tenant=UUID(int=2))
        with pytest.raises(SourceOutside):
            store.look_up(ours, tenant=TENANT)

    def test_a_customers_object_is_read_and_never_written(self, store, put_object):
        uri = "s3://customer-bucket/folder/slide.svs"
        put_object(uri, b"theirs")
        assert store.look_up(uri, tenant=TENANT).size == 6
        for call in (store.begin_upload, store.delete, store.head):
            with pytest.raises(Forbidden):
                call(uri)
        ours = store.make_uri("ours")
        with pytest.raises(Forbidden):
            store.copy_part(ours, store.begin_upload(ours), n=1, source=uri, etag="e", byte_range=None)
        with pytest.raises(Forbidden):
            store.write_part(uri, "an upload", n=1, data=b"ours")

    def test_what_is_not_an_s3_address_is_missing(self, store):
        for address in ("https://example.org/a", "s3://tessera-slides", "s3://tessera-slides/", "slide.svs"):
            with pytest.raises(SourceMissing):
                store.head(address)
