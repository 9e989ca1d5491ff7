"""The addresses that webhooks may reach, against IANA's registries of special purposes (those of 2025) block by block:
the table here is the registries' text, not the code's."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsi.notices.public_addresses import is_public

IPV4 = (
    *("0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8"),
    *("169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32"),
    *("192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32", "192.0.0.171/32", "192.0.2.0/24"),
    *("192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.88.99.2/32", "192.168.0.0/16"),
    *("192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4"),
    *("255.255.255.255/32",),
)
IPV6 = (
    *("::1/128", "::/128", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64"),
    *("2001::/23", "2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128"),
    *("2001:2::/48", "2001:3::/32", "2001:4:112::/48", "2001:10::/28", "2001:20::/28"),
    *("2001:30::/28", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"),
    *("5f00::/16", "fc00::/7", "fe80::/10"),
)
#: Blocks of other registries: multicast (twice), IPv4-compatible, site-local; and what IETF has not given out.
OTHERS = (
    *("224.0.0.0/4", "ff00::/8", "::/96", "fec0::/10", "::/3"),
    *("4000::/2", "8000::/1"),
)
METADATA = (
    *("169.254.169.254", "169.254.170.2", "169.254.170.23", "fd00:ec2::254", "fd00:ec2::23"),  # AWS, ECS, EKS
    *("168.63.129.16", "100.100.100.200", "192.0.0.192", "fd20:ce::254", "169.254.0.23"),  # Azure, Alibaba, Oracle, …
)
#: Whose addresses stand for the IPv4 address in their last 32 bits.
TRANSLATED = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
SPECIAL = [ip_network(block) for block in (*IPV4, *IPV6, *OTHERS)]


def is_special(address: IPv4Address | IPv6Address) -> bool:
    return any(address.version == block.version and address in block for block in SPECIAL)


def list_edges(block: IPv4Network | IPv6Network) -> list[IPv4Address | IPv6Address]:
    """Return the first and the last address of the block, and those before and after it."""
    first, last = int(block.network_address), int(block.broadcast_address)
    kind = type(block.network_address)
    return [kind(n) for n in (first - 1, first, last, last + 1) if 0 <= n < 2**block.max_prefixlen]


@pytest.mark.parametrize("block", SPECIAL, ids=str)
def test_the_edges_of_each_block(block: IPv4Network | IPv6Network) -> None:
    for address in list_edges(block):
        if address.version == 6 and any(address in one for one in TRANSLATED):
            continue
        expected = not is_special(address) and address != IPv4Address("168.63.129.16")
        assert is_public(address) == expected, address


@given(st.sampled_from(SPECIAL).flatmap(lambda block: st.integers(0, block.num_addresses - 1).map(block.__getitem__)))
def test_no_address_of_a_block_is_public(address: IPv4Address | IPv6Address) -> None:
    if address.version == 6 and any(address in one for one in TRANSLATED):
        address = IPv4Address(int(address) & 0xFFFF_FFFF)
        assert is_public(address) == (not is_special(address))
    else:
        assert not is_public(address)


@given(st.integers(0, 2**32 - 1).map(IPv4Address), st.sampled_from(TRANSLATED))
def test_a_translated_address_is_what_it_stands_for(address: IPv4Address, prefix: IPv6Network) -> None:
    assert is_public(prefix[int(address)]) == is_public(address)


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
def test_no_tunnel_leads_into_a_network(inner: IPv4Address) -> None:
    number = int(inner)
    obscured = number ^ 0xFFFF_FFFF
    for tunnel in (number, 0x2002 << 112 | number << 80 | 1, 0x20010000 << 96 | obscured):  # compatible, 6to4, Teredo
        assert not is_public(IPv6Address(tunnel))


@pytest.mark.parametrize("address", METADATA)
def test_no_cloud_answers_with_its_metadata(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "::ffff:127.0.0.1", "64:ff9b::a00:1", "fe80::1%eth0"])
def test_no_address_of_ours_is_public(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "168.63.129.15", "2606:4700::1111", "64:ff9b::808:808", "2a00:1450::8"])
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(ip_address(address))
