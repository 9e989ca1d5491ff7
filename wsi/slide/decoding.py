"""The table of decoders. Each is a pure function of bytes, so that a process that holds numpy and codecs alone can
decode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from wsi.errors import TileUnreadable
from wsi.slide.codecs import jpeg, jpeg2000, jpeg_restarts, old_jpeg, packed, pictures
from wsi.slide.codecs.samples import make_decoder
from wsi.slide.coding import Codec, Coding, Reduction
from wsi.slide.dicom.items import unwrap_items
from wsi.slide.slide import RGB, WHITE

#: (pieces, coding, tile width, tile height, reduction) -> [ceil(height / reduction), ceil(width / reduction), 3].
#: Checks that the coded size is the tile's before anything of that size is allocated. Raises TileUnreadable.
Decoder = Callable[[Sequence[bytes], Coding, int, int, Reduction], RGB]


DECODERS: Mapping[Codec, Decoder] = MappingProxyType(
    {
        Codec.JPEG: jpeg.decode_pieces,
        Codec.OLD_JPEG: make_decoder(old_jpeg.unpack, converts=True),
        Codec.JPEG_RESTARTS: jpeg_restarts.decode_slices,
        Codec.JPEG_2000: jpeg2000.decode_pieces,
        **{codec: make_decoder(packed.unpack) for codec in packed.CODECS},
        **{codec: make_decoder(pictures.unpack) for codec in pictures.CODECS},
    }
)


def decode_tile(pieces: Sequence[bytes], coding: Coding, width: int, height: int, reduction: Reduction = 1) -> RGB:
    """Return [ceil(height / reduction), ceil(width / reduction), 3]. Raises TileUnreadable; never paints."""
    if coding.items:
        pieces = unwrap_items(pieces)
    if not pieces or not all(pieces):
        raise TileUnreadable("missing in the file")
    return DECODERS[coding.codec](pieces, coding, width, height, reduction)


@dataclass(frozen=True, slots=True)
class TileDecoding:
    """The coding and size of one level's tiles: all that a process without the slide needs to decode them."""

    coding: Coding
    width: int  #: px of a tile in the file
    height: int
    holes: bool  #: a tile without pieces was never scanned; otherwise it is missing

    def decode(self, pieces: Sequence[bytes], reduction: Reduction = 1, fill: int = WHITE) -> RGB:
        """Return [ceil(height / reduction), ceil(width / reduction), 3]. Raises TileUnreadable."""
        if self.holes and not pieces:
            return np.full((-(-self.height // reduction), -(-self.width // reduction), 3), fill, np.uint8)
        coding = self.coding if fill == WHITE else replace(self.coding, ground=fill)
        return decode_tile(pieces, coding, self.width, self.height, reduction)
