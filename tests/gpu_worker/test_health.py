from __future__ import annotations

import json
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from gpu_worker.health import serve_health


def test_health_is_200_until_the_worker_leaves():
    state = "running"
    server = serve_health(0, lambda: state)
    url = f"http://127.0.0.1:{server.server_address[1]}/health"
    try:
        with urlopen(url, timeout=5) as answer:
            assert json.load(answer) == {"state": "running"}
        state = "leaving"
        with pytest.raises(HTTPError) as error:
            urlopen(url, timeout=5)
        assert error.value.code == 503
        error.value.close()
        with pytest.raises(HTTPError) as error:
            urlopen(url.replace("/health", "/"), timeout=5)
        assert error.value.code == 404
        error.value.close()
    finally:
        server.shutdown()
        server.server_close()
