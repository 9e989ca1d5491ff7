"""The addresses of the internet, for servers that a customer names (F-60).

The blocks are those of IANA's registries of special-purpose addresses, whole: what they call globally reachable too
(anycast to the nearest translator, relays, sinks of the DNS) is nobody's server.
https://www.iana.org/assignments/iana-ipv4-special-registry, https://www.iana.org/assignments/iana-ipv6-special-registry
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

_SPECIAL_IPV4: Final = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carriers; Alibaba's metadata: 100.100.100.200
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local; metadata of AWS, Azure, Google and others
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocols; Oracle's metadata: 192.0.0.192
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
        "168.63.129.16/32",  # in no registry: Azure's platform, from inside each virtual machine
    )
)
#: Of IPv6 only this has been given out; site-local (fec0::/10), unique local (fd00:ec2::254 is AWS's metadata),
#: IPv4-compatible (::/96), local NAT64 (64:ff9b:1::/48) and multicast addresses are outside.
_GIVEN_OUT: Final = IPv6Network("2000::/3")
_SPECIAL_IPV6: Final = tuple(
    IPv6Network(block)
    for block in (
        "2001::/23",  # protocols: Teredo, benchmarks, AMT, AS112, ORCHID, remote identification
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)
#: Addresses that stand for the IPv4 address in their last 32 bits: the system's own form of it, and translators'.
_HOLD_IPV4: Final = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return whether a server on the internet may have this address: it is in no block with a special purpose, and not
    one by which a cloud's platform answers its own machines."""
    if isinstance(address, IPv6Address):
        if any(address in block for block in _HOLD_IPV4):
            return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
        return address in _GIVEN_OUT and not any(address in block for block in _SPECIAL_IPV6)
    return not any(address in block for block in _SPECIAL_IPV4)
