"""The issuer's public keys, fetched once and kept; a key id that is not known asks again, at most once a minute."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Callable
from typing import Any

import jwt

from wsi.errors import SourceUnavailable

KEEP_SECONDS = 3600.0
#: A forged token names any key id it likes, and must not make us ask the issuer each time.
LEAST_SECONDS = 60.0
TIMEOUT_SECONDS = 5.0

Fetch = Callable[[], dict[str, Any]]


def fetch_over_http(url: str) -> Fetch:
    def fetch() -> dict[str, Any]:
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as answer:  # the URL is a setting of ours
                return json.load(answer)
        except (OSError, ValueError) as error:
            raise SourceUnavailable("The issuer's keys can not be fetched; try again in a minute.") from error

    return fetch


class Jwks:
    """RSA keys by id. Thread-safe."""

    def __init__(self, fetch: Fetch, clock: Callable[[], float] = time.monotonic) -> None:
        self._fetch = fetch
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at = float("-inf")

    def key(self, key_id: str) -> jwt.PyJWK | None:
        """None: the issuer has no such key. Raises SourceUnavailable."""
        with self._lock:
            age = self._clock() - self._fetched_at
            if age > KEEP_SECONDS or (key_id not in self._keys and age > LEAST_SECONDS):
                listed = self._fetch()["keys"]
                self._keys = {key["kid"]: jwt.PyJWK(key) for key in listed if key.get("kty") == "RSA"}
                self._fetched_at = self._clock()
            return self._keys.get(key_id)
