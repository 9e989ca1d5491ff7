"""Frozen values with units. Times are aware UTC datetimes; pixels are level-0 pixels unless stated otherwise."""
