"""Connections that the database can use: its processors decide, while Postgres allows them by its memory (F-49)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

#: Postgres works on one statement a processor; 20 connections keep it busy while most wait for their clients.
CONNECTIONS_PER_PROCESSOR = 15
#: RDS: max_connections = LEAST(DBInstanceClassMemory / 9531392, 5000)
_BYTES_PER_CONNECTION = 9_531_392
_MOST_CONNECTIONS = 5_000


class UnknownInstanceType(ValueError):
    def __init__(self, name: str) -> None:
        super().__init__(f"database_instance_type must be one of {', '.join(INSTANCE_TYPES)}, not {name}.")


@dataclass(frozen=True, slots=True)
class InstanceType:
    processors: int
    memory_gib: int

    @property
    def max_connections(self) -> int:
        """Return the number that Postgres would accept. The real one is a little lower, since the system takes its part
        of the memory."""
        return min(self.memory_gib * 1024**3 // _BYTES_PER_CONNECTION, _MOST_CONNECTIONS)

    @property
    def proxy_percent(self) -> int:
        """Return the share of max_connections that the proxy may open, in whole percent, as RDS takes it."""
        return max(1, round(100 * CONNECTIONS_PER_PROCESSOR * self.processors / self.max_connections))


#: Those on Arm with one to four gigabytes and more a processor: Postgres costs less on them than on x86.
INSTANCE_TYPES: Mapping[str, InstanceType] = MappingProxyType(
    {
        "t4g.medium": InstanceType(2, 4),
        "t4g.large": InstanceType(2, 8),
        "m7g.large": InstanceType(2, 8),
        "m7g.xlarge": InstanceType(4, 16),
        "m7g.2xlarge": InstanceType(8, 32),
        "m8g.large": InstanceType(2, 8),
        "m8g.xlarge": InstanceType(4, 16),
        "m8g.2xlarge": InstanceType(8, 32),
        "m8g.4xlarge": InstanceType(16, 64),
        "r8g.large": InstanceType(2, 16),
        "r8g.xlarge": InstanceType(4, 32),
        "r8g.2xlarge": InstanceType(8, 64),
    }
)


def get_instance_type(name: str) -> InstanceType:
    """Return the instance type of this name. Raises UnknownInstanceType."""
    if name not in INSTANCE_TYPES:
        raise UnknownInstanceType(name)
    return INSTANCE_TYPES[name]
