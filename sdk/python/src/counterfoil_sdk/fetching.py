"""One GET, for key sets, feeds and logs: no proxy, no redirect, a bound on bytes and on the whole time."""

import asyncio
import time
import urllib.request
from http.client import HTTPResponse
from typing import Any


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())


async def fetch_bytes(address: str, most: int, seconds: float = 5.0) -> bytes:
    """Raises OSError for every way to fail."""
    return await send(urllib.request.Request(address), most, seconds)


async def send(request: urllib.request.Request, most: int, seconds: float) -> bytes:
    """The thread itself gives up too; waiting for it ends at the same moment."""
    return await asyncio.wait_for(asyncio.to_thread(_blocking, request, most, seconds), seconds + 0.1)


def _blocking(request: urllib.request.Request, most: int, seconds: float) -> bytes:
    ends_at = time.monotonic() + seconds
    answer: HTTPResponse
    with _OPENER.open(request, timeout=seconds) as answer:
        data = b""
        while chunk := answer.read1(65536):
            data += chunk
            if len(data) > most:
                raise OSError(f"{request.full_url}: more than {most} bytes")
            if time.monotonic() > ends_at:
                raise TimeoutError(f"{request.full_url}: too slow")
        return data
