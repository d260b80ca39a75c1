"""One question over HTTP: two seconds, three attempts, one idempotency key.

The key is derived from the content, so a question that is asked again is the same question and gets the stored answer.
"""

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

from ..fetching import send
from ..formats.canonical import canonical
from ..formats.encoding import digest_of
from ..formats.strict_json import JsonError, Profile, parse
from .breaker import Breaker
from .refusal import no

_DEADLINE = 2.0
_ATTEMPTS = 3
_LARGEST_ANSWER = 4 * 1024 * 1024


@dataclass(frozen=True)
class _Answer:
    status: int | None
    """None where nobody answered."""
    data: bytes = b""
    why: str = ""


class Transport:
    def __init__(self, gateway: str, api_key: str, now: Callable[[], float]) -> None:
        self._gateway = gateway.rstrip("/")
        self._api_key = api_key
        self._breaker = Breaker(now)

    async def ask(self, method: str, path: str, body: dict[str, Any], identity: Any) -> dict[str, Any]:
        """`identity` is what makes two questions one: the body without its times."""
        key = digest_of(canonical([method, path, identity])).removeprefix("sha256:")
        request = self._request(method, path, body, key)
        if not self._breaker.take():
            no("resting", "nobody answered five times in a row")
        answer = None
        try:
            answer = await self._tried(request)
        finally:
            # Also when whoever asked was cancelled: a probe that never ended would rest for ever.
            if answer is None or answer.status is None:
                self._breaker.unanswered()
            else:
                self._breaker.answered()
        if answer.status is None:
            no("unanswered", answer.why)
        if answer.status not in (200, 201):
            no("rejected", f"status {answer.status}")
        return _judged(answer.data)

    async def _tried(self, request: urllib.request.Request) -> _Answer:
        why = ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                await asyncio.sleep(0.05 * 2**attempt)
            try:
                return _Answer(200, await send(request, _LARGEST_ANSWER, _DEADLINE))
            except urllib.error.HTTPError as error:
                error.close()
                if error.code != 429 and error.code < 500:
                    return _Answer(error.code)
                why = f"status {error.code}"
            except (OSError, HTTPException) as error:
                why = str(error) or type(error).__name__
        return _Answer(None, why=why)

    def _request(self, method: str, path: str, body: dict[str, Any], key: str) -> urllib.request.Request:
        headers = {
            "authorization": f"Bearer {self._api_key}",
            "content-type": "application/json",
            "idempotency-key": key,
            "counterfoil-want": "full",
        }
        data = json.dumps(body, ensure_ascii=False).encode()
        return urllib.request.Request(self._gateway + path, data=data, headers=headers, method=method)


def _judged(data: bytes) -> dict[str, Any]:
    try:
        answer = parse(data, Profile.FOREIGN, _LARGEST_ANSWER)
    except JsonError as error:
        no("malformed", str(error))
    if not isinstance(answer, dict):
        no("malformed", "the answer is no object")
    return answer
