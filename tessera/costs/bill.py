"""The bill of one month, by service, and which part of it is due without any slide."""

from __future__ import annotations

from dataclasses import dataclass

from tessera.costs.bill_line import BillLine, sum_dollars
from tessera.costs.configuration import Configuration
from tessera.costs.idle_lines import list_idle_lines
from tessera.costs.load import Load
from tessera.costs.slide_lines import list_slide_lines

NOT_INCLUDED = (
    "taxes, support, free tiers, Cognito by active users, e-mails, AppSync, CloudFront's requests, images in ECR,"
    " backups larger than the database"
)


@dataclass(frozen=True, slots=True)
class Bill:
    idle: tuple[BillLine, ...]  #: due without any slide
    of_slides: tuple[BillLine, ...]
    slides_a_month: float

    @property
    def lines(self) -> tuple[BillLine, ...]:
        return self.idle + self.of_slides

    @property
    def dollars(self) -> float:
        return sum_dollars(self.lines)

    @property
    def idle_dollars(self) -> float:
        return sum_dollars(self.idle)

    @property
    def dollars_a_slide(self) -> float | None:
        """The whole bill divided by the slides; None without slides."""
        return self.dollars / self.slides_a_month if self.slides_a_month else None

    @property
    def services(self) -> dict[str, Bill]:
        """The part of each service."""
        return {name: self._choose(name) for name in dict.fromkeys(line.service for line in self.lines)}

    def _choose(self, service: str) -> Bill:
        idle, of_slides = (
            tuple(line for line in part if line.service == service) for part in (self.idle, self.of_slides)
        )
        return Bill(idle, of_slides, self.slides_a_month)


def compute_bill(configuration: Configuration, load: Load) -> Bill:
    """Return the bill of a month in which the oldest slides are `kept_days` old: as many leave as arrive."""
    idle, of_slides = (
        tuple(line for line in lines if line.quantity)
        for lines in (list_idle_lines(configuration, load), list_slide_lines(configuration, load))
    )
    return Bill(idle, of_slides, load.slides_a_month)
