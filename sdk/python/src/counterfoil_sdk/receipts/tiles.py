"""Hashes of a log, out of its tiles (C2SP tlog-tiles).

    tile/<level>/<index>[.p/<width>]        256 hashes of 32 bytes; the newest tile of a level may be partial

A tile is believed by nobody: what is computed from it is compared with a signed root.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from ..fetching import fetch_bytes
from ..formats.tree import Node, node_hash

Fetch = Callable[[str], Awaitable[bytes]]
"""Fetches what lies below the log's address: `checkpoint`, `tile/0/000.p/3`."""

T = TypeVar("T")

_WIDTH = 256
_LEVELS = 8


def over_http(address: str) -> Fetch:
    async def fetch(path: str) -> bytes:
        return await fetch_bytes(f"{address.rstrip('/')}/{path}", 64 * 1024)

    return fetch


class _Missing(Exception):
    def __init__(self, level: int, index: int) -> None:
        super().__init__("tile not fetched yet")
        self.tile = (level, index)


class Tiles:
    def __init__(self, fetch: Fetch, size: int) -> None:
        self._fetch = fetch
        self._size = size
        self._held: dict[tuple[int, int], bytes] = {}

    async def compute(self, work: Callable[[Node], T]) -> T:
        """Runs a computation over nodes, fetching the tiles that it turns out to need."""
        while True:
            try:
                return work(self._node)
            except _Missing as missing:
                await self._load(*missing.tile)

    def _node(self, level: int, index: int) -> bytes:
        row, height = divmod(level, _LEVELS)
        tile, start = divmod(index << height, _WIDTH)
        data = self._held.get((row, tile))
        if data is None:
            raise _Missing(row, tile)
        hashes = [data[at * 32 : (at + 1) * 32] for at in range(start, start + (1 << height))]
        while len(hashes) > 1:
            hashes = [node_hash(hashes[at], hashes[at + 1]) for at in range(0, len(hashes), 2)]
        return hashes[0]

    async def _load(self, level: int, index: int) -> None:
        complete = self._size // _WIDTH**level
        width = min(_WIDTH, complete - index * _WIDTH)
        partial = f".p/{width}" if width < _WIDTH else ""
        data = await self._fetch(f"tile/{level}/{_tile_name(index)}{partial}")
        if width < 1 or len(data) != width * 32:
            raise ValueError(f"tile {level}/{index} is not of {width} hashes")
        self._held[level, index] = data


def _tile_name(index: int) -> str:
    """1234067 is `x001/x234/067`."""
    rest, last = divmod(index, 1000)
    name = f"{last:03}"
    while rest:
        rest, group = divmod(rest, 1000)
        name = f"x{group:03}/{name}"
    return name
