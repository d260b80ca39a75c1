"""The gateway's keys, where this provider was told to find them.

Promised: a token never says where keys are. An unknown key id causes one fetch, and no more than one in ten seconds (one, while there is no set at
all); a set that could not be read again for an hour counts no more. Without a set, nobody is believed.
"""

import asyncio
import math
import os
from collections.abc import Callable
from pathlib import Path

from ..fetching import fetch_bytes
from ..formats.keys import KeySet, PinnedKey
from .refusal import refuse

KeySource = str | os.PathLike[str] | KeySet
"""An address, a file, or a set that you already pinned."""

# Seconds.
_BETWEEN_FETCHES = 10
_BETWEEN_FIRST_FETCHES = 1
_FRESH = 5 * 60
_OLDEST = 60 * 60
_LARGEST = 256 * 1024


class GatewayKeys:
    def __init__(self, source: KeySource, issuer: str, now: Callable[[], float]) -> None:
        if isinstance(source, KeySet) and source.issuer != issuer:
            raise ValueError(f"the key set is of `{source.issuer}`, not of `{issuer}`")
        self._source = source
        self._issuer = issuer
        self._now = now
        self._set = source if isinstance(source, KeySet) else None
        self._read_at = math.inf if isinstance(source, KeySet) else 0.0
        self._tried_at = -math.inf
        # One fetch at a time, however many calls wait for it.
        self._reading = asyncio.Lock()

    async def find(self, kid: str) -> PinnedKey:
        if self._wants(kid):
            async with self._reading:
                if self._wants(kid):
                    await self._read()
        if self._set is None or self._now() - self._read_at > _OLDEST:
            refuse("capability_keys")
        key = self._set.by_kid(kid)
        if key is None or key.purpose != "capability":
            refuse("capability_key")
        return key

    def _wants(self, kid: str) -> bool:
        is_known = self._set is not None and self._set.by_kid(kid) is not None
        return not is_known or self._now() - self._read_at > _FRESH

    async def _read(self) -> None:
        between = _BETWEEN_FETCHES if self._set else _BETWEEN_FIRST_FETCHES
        if isinstance(self._source, KeySet) or self._now() - self._tried_at < between:
            return
        self._tried_at = self._now()
        try:
            found = KeySet.parse(await _bytes_of(self._source))
        except (OSError, ValueError):
            # Whoever asked is refused; the set of before stays until it is too old.
            return
        if found.issuer == self._issuer:
            self._set, self._read_at = found, self._now()


async def _bytes_of(source: str | os.PathLike[str]) -> bytes:
    if isinstance(source, str) and source.startswith(("http://", "https://")):
        return await fetch_bytes(source, _LARGEST)
    return Path(source).read_bytes()
