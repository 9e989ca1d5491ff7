"""The costs of an idle installation, the cost of a slide, and when paying ahead pays: arithmetic on a table of prices
with their dates. `python -m benchmarks.costs` prints the tables of docs/how-to/deploy.md."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

HOURS = 730  #: a month


@dataclass(frozen=True, slots=True)
class Price:
    dollars: float
    unit: str
    source: str


LIST = "AWS Price List, version 20260924, us-east-1"
SEEN = "seen on public pages in 2026, us-east-1: look it up"
PRICES = {
    "EKS cluster": Price(0.10, "h", LIST),
    "NAT gateway": Price(0.045, "h", LIST),
    "NAT traffic": Price(0.045, "GB", LIST),
    "RDS t4g.medium": Price(0.065, "h", LIST),
    "RDS m7g.large": Price(0.168, "h", SEEN),
    "RDS storage gp3": Price(0.115, "GB month", SEEN),
    "RDS Proxy": Price(0.015, "vCPU h", SEEN),
    "EC2 r7i.large": Price(0.1323, "h", SEEN),
    "g6.2xlarge on demand": Price(0.9776, "h", LIST),
    "g6.2xlarge spot": Price(0.53, "h", "README of AWS's own sample, us-west-2, March 2026"),
    "S3 GET": Price(0.0004 / 1000, "request", LIST),
    "S3 PUT": Price(0.005 / 1000, "request", LIST),
    "S3 Standard": Price(0.023, "GB month", LIST),
    "WAF": Price(5.0 + 7 * 1.0, "month", SEEN),  # an ACL with seven rules
    "KMS key": Price(1.0, "month", SEEN),
}


def get_dollars(name: str) -> float:
    return PRICES[name].dollars


@dataclass(frozen=True, kw_only=True, slots=True)
class Idle:
    """The parts of an installation that cost money whether or not slides arrive."""

    nat_gateways: int
    system_nodes: int
    database: str
    standbys: int
    warm_hours: float  #: of one GPU node, a month
    keys: int = 6

    def compute_costs(self) -> list[tuple[str, float]]:
        databases = 1 + self.standbys
        return [
            ("EKS cluster", HOURS * get_dollars("EKS cluster")),
            (f"{self.system_nodes} nodes r7i.large", HOURS * self.system_nodes * get_dollars("EC2 r7i.large")),
            (f"{self.nat_gateways} NAT gateways", HOURS * self.nat_gateways * get_dollars("NAT gateway")),
            (f"{databases} databases {self.database}", HOURS * databases * get_dollars(f"RDS {self.database}")),
            ("database storage, 100 GB each", databases * 100 * get_dollars("RDS storage gp3")),
            ("RDS Proxy, 2 vCPU", HOURS * 2 * get_dollars("RDS Proxy")),
            ("firewall", get_dollars("WAF")),
            (f"{self.keys} keys", self.keys * get_dollars("KMS key")),
            (f"warm GPU node, {self.warm_hours:.0f} h of spot", self.warm_hours * get_dollars("g6.2xlarge spot")),
        ]


PRESETS = {
    "dev": Idle(nat_gateways=1, system_nodes=2, database="t4g.medium", standbys=0, warm_hours=0),
    "prod": Idle(nat_gateways=3, system_nodes=2, database="m7g.large", standbys=1, warm_hours=12 * 22),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class SlideCosts:
    """One slide. `gpu_minutes` include its share of boot and idling; see docs/explanation/scaling.md for that share."""

    gpu_minutes: float
    gigabytes: float
    read_gigabytes: float
    gets: int
    puts: int

    def compute_costs(self) -> list[tuple[str, float, float]]:
        """Return (item, dollars as built, dollars if done badly) for each cost of the slide."""
        hours = self.gpu_minutes / 60
        return [
            (
                "GPU: spot, against on demand",
                hours * get_dollars("g6.2xlarge spot"),
                hours * get_dollars("g6.2xlarge on demand"),
            ),
            (
                "reads: 8 MB ranges, against one GET a tile",
                self.gets * get_dollars("S3 GET"),
                36_600 * get_dollars("S3 GET"),
            ),
            ("network: gateway endpoint, against NAT", 0.0, self.read_gigabytes * get_dollars("NAT traffic")),
            (
                "results: some files, against one a tile",
                self.puts * get_dollars("S3 PUT"),
                36_600 * get_dollars("S3 PUT"),
            ),
            (
                "keeping the original for a month",
                self.gigabytes * get_dollars("S3 Standard"),
                self.gigabytes * get_dollars("S3 Standard"),
            ),
        ]


EXAMPLE = SlideCosts(gpu_minutes=5, gigabytes=4, read_gigabytes=1.2, gets=150, puts=50)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--gpu-minutes", type=float, default=EXAMPLE.gpu_minutes, help="of one slide")
    slide = SlideCosts(
        gpu_minutes=given.parse_args().gpu_minutes,
        gigabytes=EXAMPLE.gigabytes,
        read_gigabytes=EXAMPLE.read_gigabytes,
        gets=EXAMPLE.gets,
        puts=EXAMPLE.puts,
    )
    console = Console()
    for name, idle in PRESETS.items():
        table = Table("idle, a month", "$", title=name)
        for item, cost in idle.compute_costs():
            table.add_row(item, f"{cost:.0f}")
        table.add_row("all", f"{sum(cost for _, cost in idle.compute_costs()):.0f}")
        console.print(table)
    table = Table("a slide", "as built, $", "done badly, $")
    for item, good, bad in slide.compute_costs():
        table.add_row(item, f"{good:.5f}", f"{bad:.5f}")
    console.print(table)
    gpu = slide.compute_costs()[0][1]
    fixed = sum(cost for _, cost in PRESETS["prod"].compute_costs())
    share = get_dollars("g6.2xlarge spot") / get_dollars("g6.2xlarge on demand")
    console.print(f"prod's idle costs are those of {fixed / gpu:,.0f} slides' GPU time a month")
    console.print(
        f"spot costs {share:.0%} of on demand: paying ahead must cost less than that, at every hour of the day"
    )


if __name__ == "__main__":
    main()
