"""The slide digest is S3's composite SHA-256."""

from __future__ import annotations

import hashlib

from wsi.digests import PART_SIZE, compute_composite_digest, compute_file_digest, compute_slide_digest
from wsi.ports.objects import StoredObject
from wsi.slides.slides import compute_reference_digest


def test_a_file_has_the_digest_that_s3_composes_of_its_parts():
    data = bytes(range(256)) * ((PART_SIZE + 1024) // 256)
    parts = [hashlib.sha256(data[:PART_SIZE]), hashlib.sha256(data[PART_SIZE:])]
    expected = hashlib.sha256(parts[0].digest() + parts[1].digest()).hexdigest() + "-2"
    assert compute_file_digest([data[:PART_SIZE], data[PART_SIZE:]]) == expected
    assert compute_composite_digest([part.hexdigest() for part in parts]) == expected


def test_a_slide_of_one_file_has_its_files_digest_and_of_several_depends_on_their_order():
    assert compute_slide_digest(["a-1"]) == "a-1"
    assert compute_slide_digest(["a-1", "b-1"]) == hashlib.sha256(b"a-1\nb-1").hexdigest()
    assert compute_slide_digest(["a-1", "b-1"]) != compute_slide_digest(["b-1", "a-1"])


def test_a_slide_by_reference_has_s3s_own_digest_or_one_of_its_version():
    assert compute_reference_digest("s3://b/k", StoredObject(size=5, etag="e", sha256="abc-1")) == "abc-1"
    unknown = StoredObject(size=5, etag="e")
    assert compute_reference_digest("s3://b/k", unknown) == compute_reference_digest("s3://b/k", unknown)
    others = [("s3://b/k", StoredObject(size=5, etag="f")), ("s3://b/k2", unknown)]
    assert all(compute_reference_digest(*other) != compute_reference_digest("s3://b/k", unknown) for other in others)
