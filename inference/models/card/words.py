"""Messages about mistakes in a card: they say what to write instead."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from inference.models.card import stains as card_stains
from wsi.plain_faults import describe_fault

#: Names that other tools have for a card's fields: timm, Hugging Face, MONAI, WSInfer, TIAToolbox.
ELSEWHERE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "arch": "architecture",
        "batch_size": "batch",
        "box": "boxes",
        "class_names": "columns",
        "classes": "columns",
        "crop_size": "input_px",
        "color_normalization": "stain_normalisation",
        "colour_normalisation": "stain_normalisation",
        "dtype": "precision",
        "embed_dim": "dimensions",
        "embedding_dim": "dimensions",
        "feature_dim": "dimensions",
        "id2label": "columns",
        "image_size": "input_px",
        "img_size": "input_px",
        "input_size": "input_px",
        "interpolation": "resize",
        "labels": "columns",
        "license": "licence",
        "magnification": "mpp",
        "model_args": "architecture_arguments",
        "model_name": "architecture",
        "normalizer": "stain_normalisation",
        "num_classes": "columns",
        "patch_size": "tile_px",
        "patch_size_pixels": "tile_px",
        "resolution": "mpp",
        "spacing": "mpp",
        "spacing_um_px": "mpp",
        "stain_norm": "stain_normalisation",
        "stain_normalization": "stain_normalisation",
        "stain_normalizer": "stain_normalisation",
        "stainnorm": "stain_normalisation",
        "subpixel": "boxes",
        "task": "output",
        "tile_size": "tile_px",
        "torch_dtype": "precision",
        "type": "kind",
        "units": "mpp",
    }
)
_COLUMN: Final = 'an object, as {"name": "prob_Tumor"}'
_COLUMNS: Final = 'a list of objects, as [{"name": "prob_Tumor"}]'
_STAINS: Final = "stain_normalisation"
_RGB: Final = frozenset({"mean", "std"})
_SHOWN: Final = 40  #: characters of a value that is quoted


def describe_faults(error: ValidationError, kind: type[BaseModel]) -> str:
    """Return what is wrong with each field, separated by semicolons."""
    return "; ".join(dict.fromkeys(_fault(dict(found), kind) for found in error.errors()))


def find_nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant, or None."""
    known = list(known)
    for names in (ELSEWHERE, card_stains.ELSEWHERE):
        if names.get(name.lower()) in known:
            return names[name.lower()]
    return next(iter(get_close_matches(name.lower(), known, 1)), None)


def _fault(found: Mapping[str, Any], kind: type[BaseModel]) -> str:
    place, given, what = [str(part) for part in found["loc"]], found.get("input"), str(found["type"])
    method = place.pop(1) if place[:1] == [_STAINS] and len(place) > 1 else ""
    where = ".".join(place) or "the card"
    if place[:1] == [_STAINS] and (said := card_stains.describe_reference_fault(place, given, what)) is not None:
        return said
    if what == "extra_forbidden":
        meant = find_nearest(
            place[-1], card_stains.list_reference_fields(method) if method else _fields(kind, place[:-1])
        )
        return f"{where} is not known here" + (f"; perhaps {meant} is meant" if meant else "")
    if place and place[0] in _RGB:
        return f"{place[0]} must be three numbers, one each of red, green and blue, as {_example(place[0], given)}"
    if place and place[0] == "columns" and what in ("model_type", "tuple_type", "list_type"):
        return f"{where} must be {_COLUMN if len(place) > 1 else _COLUMNS}"
    words = describe_fault(found)
    if not place and what == "value_error":  # it names the field itself
        return words
    if what in ("literal_error", "enum") and isinstance(given, str):
        meant = get_close_matches(given.lower(), _choices(found), 1)
        return f"{where} {words}, not {_quote(given)}" + (f"; perhaps {meant[0]} is meant" if meant else "")
    if what in ("int_type", "float_type", "bool_type", "string_type", "int_from_float") and not isinstance(given, dict):
        return f"{where} {words}, not {_quote(given)}"
    return f"{where} {words}"


def _fields(kind: type[BaseModel], place: list[str]) -> list[str]:
    """Return the fields of the part of a card at `place`."""
    fields: Any = kind
    for name in place:
        field = fields.model_fields.get(name) if isinstance(fields, type) and issubclass(fields, BaseModel) else None
        if field is None:
            continue  # an item of a list
        parts = _flatten(field.annotation)
        fields = next((part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)), None)
    return list(fields.model_fields) if isinstance(fields, type) and issubclass(fields, BaseModel) else []


def _flatten(annotation: Any) -> list[Any]:
    """Return an annotation and all that it is made of, as the class in `tuple[Column, ...] | None`."""
    return [annotation, *(part for inner in getattr(annotation, "__args__", ()) for part in _flatten(inner))]


def _choices(found: Mapping[str, Any]) -> list[str]:
    expected = str(found.get("ctx", {}).get("expected", ""))
    return [part.strip("' ") for part in expected.replace(" or ", ",").split(",")]


def _example(field: str, given: Any) -> str:
    if isinstance(given, int | float) and not isinstance(given, bool):
        return json.dumps([given] * 3)
    return "[0.485, 0.456, 0.406]" if field == "mean" else "[0.229, 0.224, 0.225]"


def _quote(given: Any) -> str:
    text = json.dumps(given, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
