"""The makers and models of scanners by which a clean file may be named: any other text may be somebody's."""

from __future__ import annotations

import re
from typing import Final

#: Makers, as they write themselves. The first one that a text holds as a word counts.
_MAKERS: Final = (
    *("3DHISTECH", "Akoya", "Aperio", "Aquaneat", "BioImagene", "Epredia", "Evident", "Grundium", "Hamamatsu", "Huron"),
    *("KFBIO", "Leica Biosystems", "Leica", "Menarini", "Mikroscan", "Motic", "OptraSCAN", "Olympus", "PathAI"),
    *("PerkinElmer", "Philips", "PreciPoint", "Roche", "Sakura", "Trestle", "Ventana", "Zeiss"),
)
_MODELS: Final = (
    *("Aperio AT2", "Aperio CS2", "Aperio GT 450 DX", "Aperio GT 450", "Aperio GT450 DX", "Aperio GT450", "Aperio LV1"),
    *("Aperio VERSA 8", "Aperio VERSA", "Aperio", "Axioscan 7", "Axio Scan.Z1", "DP 200", "DP 600", "EasyScan"),
    *("Glissando", "IntelliSite Ultra Fast Scanner", "iScan Coreo", "iScan HT", "NanoZoomer", "Ocus20", "Ocus40"),
    *("PANNORAMIC 1000", "PANNORAMIC 250 Flash III", "PANNORAMIC 480", "PANNORAMIC SCAN II", "PANNORAMIC", "SG20"),
    *("SG300", "SG60", "TissueScope LE", "TissueScope", "UFS", "VS120", "VS200", "VS-M1"),
)


def name_maker(text: str) -> bytes:
    """Return the maker that the text names; empty for any other text."""
    return _find(_MAKERS, text)


def name_model(text: str) -> bytes:
    return _find(_MODELS, text)


def _find(known: tuple[str, ...], text: str) -> bytes:
    for name in known:
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
            return name.encode()
    return b""
