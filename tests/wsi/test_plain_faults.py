from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from wsi.plain_faults import describe_fault, describe_json_error


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


def even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


class Inner(BaseModel):
    x: int = 0


class Form(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: Annotated[str, Field(min_length=2, max_length=4, pattern="^[a-z]+$")] = "abc"
    whole: Annotated[int, Field(ge=1, lt=10)] = 1
    number: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)] = 1.0
    flag: bool = False
    many: Annotated[list[int], Field(min_length=1, max_length=2)] = [1]
    pair: tuple[int, int] = (1, 2)
    inner: Inner = Inner()
    table: dict[str, int] = {}
    id: UUID | None = None
    colour: Colour = Colour.RED
    even_number: Annotated[int, AfterValidator(even)] = 0


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"text": 5}, "must be text"),
        ({"text": "abcde"}, "must have at most 4 characters"),
        ({"text": "a"}, "must have at least 2 characters"),
        ({"text": "AB"}, "does not have the expected form"),
        ({"whole": "x"}, "must be a whole number"),
        ({"whole": 1.5}, "must be a whole number"),
        ({"whole": None}, "must be a whole number"),
        ({"whole": 0}, "must be 1 or more"),
        ({"whole": 10}, "must be below 10"),
        ({"number": "x"}, "must be a number"),
        ({"number": 0}, "must be above 0.0"),
        ({"number": 101}, "must be 100.0 or less"),
        ({"number": float("inf")}, "must be a finite number"),
        ({"flag": "x"}, "must be true or false"),
        ({"many": 1}, "must be a list"),
        ({"many": []}, "must hold at least 1 items"),
        ({"many": [1, 2, 3]}, "must hold at most 2 items"),
        ({"pair": 5}, "must be a list"),
        ({"inner": 5}, "must be an object"),
        ({"table": []}, "must be an object"),
        ({"id": "x"}, "must be a UUID"),
        ({"colour": "green"}, "must be 'red' or 'blue'"),
        ({"even_number": 3}, "must be even"),
        ({"more": 1}, "is not known here"),
    ],
)
def test_fault_is_told_in_plain_words(value: dict[str, Any], said: str):
    with pytest.raises(ValidationError) as caught:
        Form.model_validate(value)
    (fault,) = caught.value.errors()
    assert describe_fault(fault) == said


def test_fault_of_a_kind_that_nobody_foresaw_is_not_told_in_the_parsers_words():
    assert describe_fault({"type": "url_parsing", "msg": "Input should be a valid URL"}) == "is not valid"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "line 1, column 1"),
        (b'{"a":\n,}', "line 2, column 1"),
        (b"\xff\xfe\xff", "not text in UTF-8"),
        (b"[" * 100_000, "lists too deep"),
        (b"9" * 5_000, "a number too long"),
    ],
)
def test_why_json_cannot_be_read_is_told_in_plain_words(data: bytes, said: str):
    with pytest.raises((ValueError, RecursionError)) as caught:
        json.loads(data)
    assert said in describe_json_error(caught.value)
