"""The kill generation: slips of an earlier one are refused.

Promised: followed at most two seconds ago, or asked for now; where the feed is silent beyond its own end, everything is
refused. A generation never goes back.
"""

import asyncio
import math
from collections.abc import Callable
from typing import Literal

from ..fetching import fetch_bytes
from .keys import GatewayKeys
from .refusal import CapabilityRefusal, refuse
from .token import header_kid, object_of, split

# Seconds. `exp` is `iat` + 10; a longer life would outlive a kill.
_FOLLOWED = 2
_LEEWAY = 5
_LONGEST_LIFE = 10

Following = Literal["follow", "seen"]
"""`seen` compares with the newest capability only: it learns of a kill from the first call after it."""


class Generation:
    def __init__(
        self, following: Following, feed: str, issuer: str, keys: GatewayKeys, now: Callable[[], float]
    ) -> None:
        self._following = following
        self._feed = feed
        self._issuer = issuer
        self._keys = keys
        self._now = now
        self._newest = 0
        self._asked_at = -math.inf
        self._ends_at = 0
        # One question at a time, however many calls wait for it.
        self._asking = asyncio.Lock()

    async def demand(self, generation: int) -> None:
        if self._following != "seen":
            await self._follow()
        if generation < self._newest:
            refuse("capability_killed")
        self._newest = generation

    async def _follow(self) -> None:
        async with self._asking:
            if self._now() - self._asked_at > _FOLLOWED:
                await self._ask()
        if self._now() >= self._ends_at + _LEEWAY:
            refuse("capability_generation")

    async def _ask(self) -> None:
        asked = self._now()
        try:
            answer = await fetch_bytes(self._feed, 4096, _FOLLOWED)
            generation, ends_at = await self._read(answer.decode("latin-1").strip())
        except (OSError, CapabilityRefusal):
            # The feed of before counts until its end, and not longer.
            return
        self._newest = max(self._newest, generation)
        self._ends_at = max(self._ends_at, ends_at)
        self._asked_at = asked

    async def _read(self, token: str) -> tuple[int, int]:
        parts = split(token)
        key = await self._keys.find(header_kid(parts.header, "toolgen+jwt"))
        if not key.key.verify(parts.signed, parts.signature):
            refuse("capability_signature")
        claims = object_of(parts.payload)
        if set(claims) != {"exp", "gen", "iat", "iss"} or claims["iss"] != self._issuer:
            refuse("capability_generation")
        exp, gen, iat = claims["exp"], claims["gen"], claims["iat"]
        if not all(type(number) is int for number in (exp, gen, iat)):
            refuse("capability_generation")
        if exp - iat > _LONGEST_LIFE or iat > self._now() + _LEEWAY:
            refuse("capability_generation")
        return gen, exp
