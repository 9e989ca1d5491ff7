"""A MIRAX slide that says whose it is: in its list, in the layers beside the levels, in its index and between tiles."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Final

import numpy as np

from tests.slides import he_tissue
from tests.slides.identified import Identified, noise
from tests.slides.mirax import SIDE, SLIDE_ID, write_mirax

WORD: Final = b"ZQXJKVZQXJKV"
_LAYERS: Final = ("ScanDataLayer_SlideThumbnail", "ScanDataLayer_SlideBarcode", "ScanDataLayer_SlidePreview")
_KINDS: Final = ("THUMBNAIL_IMAGE_TYPE", "BARCODE_IMAGE_TYPE", "PREVIEW_IMAGE_TYPE")


def write_identified_mirax(folder: Path, *, positions: str | None = "VIMSLIDE_POSITION_BUFFER") -> Identified:
    """With macro, label and preview, a layer of XML, and positions if a layer of them is named."""
    path = folder / f"{WORD.decode()}.mrxs"
    pixels = he_tissue(np.random.default_rng(3), 2 * SIDE, 3 * SIDE)
    write_mirax(path, pixels)
    inside = path.with_suffix("")
    tiles = (inside / "Data0000.dat").read_bytes()
    lengths = _read_lengths(inside / "Index.dat")
    jpegs = [_encode(noise(64, 64 + 8 * number)) for number in range(3)]
    places = np.array([(0, x * SIDE, y * SIDE) for y in range(2) for x in range(3)])
    buffer = b"".join(struct.pack("<Bii", *map(int, row)) for row in places)
    packed = zlib.compress(buffer) if positions == "StitchingIntensityLayer" else buffer
    records = [*jpegs, b"<a>" + WORD + b"</a>", *([packed + WORD] if packed is not buffer else [buffer])][
        : 4 + (positions is not None)
    ]
    body, starts = bytearray(b"01.02" + SLIDE_ID.encode() + WORD), list[int]()
    for record in records:
        starts.append(len(body))
        body += record + WORD
    (inside / "Data0001.dat").write_bytes(body)
    (inside / "Data0000.dat").write_bytes(WORD + tiles[: sum(lengths[:2])] + WORD + tiles[sum(lengths[:2]) :] + WORD)
    (inside / "Index.dat").write_bytes(_build_index(lengths, starts, list(map(len, records))))
    (inside / "Slidedat.ini").write_text(_build_list((inside / "Slidedat.ini").read_text(), positions))
    (inside / "Notes.txt").write_bytes(WORD)
    path.write_bytes(jpegs[2] + WORD)
    return Identified(path=path, pictures=tuple(map(_scan, jpegs)), images=4, files=1, secrets=(WORD,))


def _encode(pixels: np.ndarray) -> bytes:
    from imagecodecs import jpeg_encode

    return jpeg_encode(pixels, level=90)


def _scan(jpeg: bytes) -> bytes:
    return jpeg[jpeg.index(b"\xff\xda") + 16 :]


def _read_lengths(path: Path) -> list[int]:
    data = path.read_bytes()
    start = 5 + len(SLIDE_ID) + 8 + 4 + 8 + 8
    return [struct.unpack_from("<4i", data, at)[2] for at in range(start, len(data), 16)]


def _build_index(lengths: list[int], starts: list[int], sizes: list[int]) -> bytes:
    """Pages of two tiles each, and words in every gap."""
    head = bytearray(b"01.02" + SLIDE_ID.encode() + bytes(8))
    offset, entries = len(WORD), list[bytes]()
    for number, length in enumerate(lengths):
        offset += len(WORD) if number == 2 else 0
        entries.append(struct.pack("<4i", number, offset, length, 0))
        offset += length
    root = len(head) - 8
    head += WORD
    level = len(head)
    head += struct.pack("<2i", 0, level + 8 + len(WORD)) + WORD
    for at in range(0, len(entries), 2):
        following = len(head) + 8 + 32 if at + 2 < len(entries) else 0
        head += struct.pack("<2i", 2, following) + entries[at] + entries[at + 1]
    heads = list[int]()
    for start, size in zip(starts, sizes, strict=True):
        heads.append(len(head))
        head += struct.pack("<2i", 0, len(head) + 8) + struct.pack("<7i", 1, 0, 0, 0, start, size, 1) + WORD
    tables = len(head), len(head) + 4
    head += struct.pack("<i", level) + struct.pack(f"<{len(heads)}i", *heads) + WORD
    struct.pack_into("<2i", head, root, *tables)
    return bytes(head)


def _build_list(text: str, positions: str | None) -> str:
    word = WORD.decode()
    layers = [("Scan data layer", _LAYERS), ("ScanInfo", (word,)), *([(positions, ("default",))] if positions else [])]
    lines, sections = [f"NONHIER_COUNT = {len(layers)}"], list[str]()
    for layer, (name, values) in enumerate(layers):
        lines += [f"NONHIER_{layer}_NAME = {name}", f"NONHIER_{layer}_COUNT = {len(values)}"]
        for number, value in enumerate(values):
            section = f"NONHIERLAYER_{layer}_LEVEL_{number}_SECTION"
            lines += [f"NONHIER_{layer}_VAL_{number} = {value}", f"NONHIER_{layer}_VAL_{number}_SECTION = {section}"]
            kind = f"{_KINDS[number]} = JPEG\n" if layer == 0 else ""
            sections.append(f"[{section}]\n{kind}BARCODE_VALUE = {word}\n")
    general = (
        f"SLIDE_NAME = {word}\nPROJECT_NAME = {word}\nSLIDE_CREATIONDATETIME = {word}\nSCANNER_HARDWARE_ID = {word}\n"
        f"SLIDE_TYPE = {word}\nOBJECTIVE_NAME = {word}\n"
    )
    text = text.replace("NONHIER_COUNT = 0", "\n".join(lines)).replace("[GENERAL]\n", f"[GENERAL]\n{general}")
    text = text.replace("FILE_COUNT = 1", "FILE_COUNT = 2\nFILE_1 = Data0001.dat").replace(
        "[DATAFILE]", f"# {word}\n[DATAFILE]"
    )
    return text + "".join(sections)
