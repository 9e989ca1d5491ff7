"""One line of a bill, and sums of lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from adapters.settings.prices import Price, get_price


@dataclass(frozen=True, slots=True)
class BillLine:
    """`quantity` of the price's units in a month."""

    service: str
    item: str
    quantity: float
    price_name: str

    @property
    def price(self) -> Price:
        return get_price(self.price_name)

    @property
    def dollars(self) -> float:
        return self.quantity * self.price.dollars


def sum_dollars(lines: Iterable[BillLine]) -> float:
    return sum(line.dollars for line in lines)
