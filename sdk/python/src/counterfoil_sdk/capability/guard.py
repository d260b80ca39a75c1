"""The guard of one provider.

The order of its checks is the one to keep: nothing in a token is believed before its signature holds, and nothing is used up
that may not run (docs/formats/capability.md).
"""

import inspect
import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from ..execution import Envelope, Seen, Signer
from ..formats.canonical import canonical
from ..formats.encoding import base64url, sha256
from ..formats.keys import KeySet, PinnedKey
from ..formats.shapes import matches
from ..formats.strict_json import JsonError
from ..verify import Refused, verify_receipt
from .admitted import Admitted, Executions
from .generation import Following, Generation
from .keys import GatewayKeys, KeySource
from .refusal import CapabilityRefusal, refuse
from .stores import UsedStore
from .token import Claims, header_kid, read_claims, split

CAPABILITY = "dev.counterfoil/capability"
RECEIPT = "dev.counterfoil/receipt"

# Five seconds: both ends follow ledger time; more would stretch a thirty-second slip.
_LEEWAY = 5
_LONGEST_LIFE = 60


class Guard:
    """What this provider was told to demand; a token never changes it.

    issuer: the only one whose capabilities count, `https://<host>/p/<slot>-<public id>`.
    provider, project: ours, as the registry names us, and `prj_…`; they stand in what we sign.
    store: where used capabilities are remembered. There is no guard without one.
    audience: our registered resource; by default `urn:counterfoil:<slot>-<public id>:<provider>`.
    gateway: where it is reached, if not at the issuer's own address.
    keys: by default `<issuer>/gateway-jwks.json` at the gateway.
    generation: `follow` refuses what an earlier kill generation minted, and everything when the feed is silent.
    proof: keys that you pinned; then every call must bring the receipt of its decision (mode `proof`).
    advisory: whether calls that only a shadow window lets pass may run.
    signer, seen, on_execution: the execution key; the largest checkpoint held; told of every statement that was signed.
    on_refusal: told of every refusal: the code, never the token.
    now: seconds since 1970.
    """

    def __init__(
        self,
        *,
        issuer: str,
        provider: str,
        project: str,
        env: Literal["live", "test"],
        store: UsedStore,
        audience: str | None = None,
        gateway: str | None = None,
        keys: KeySource | None = None,
        generation: Following = "follow",
        proof: KeySet | None = None,
        advisory: Literal["refuse", "run"] = "refuse",
        signer: Signer | None = None,
        seen: Callable[[], Seen | None] | None = None,
        on_execution: Callable[[Envelope], None] | None = None,
        on_refusal: Callable[[CapabilityRefusal], None] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        for pattern, text in (("issuer", issuer), ("provider", provider), ("prj", project)):
            if not matches(pattern, text):
                raise ValueError(f"`{text}` does not match {pattern}")
        if not callable(getattr(store, "consume", None)):
            raise TypeError("a guard needs a store for used capabilities")
        address, name = issuer.split("/p/")
        base = f"{(gateway or address).rstrip('/')}/p/{name}"
        self.audience = audience or f"urn:counterfoil:{name}:{provider}"
        self._issuer, self._project, self._env = issuer, project, env
        self._store, self._proof, self._runs_advisory = store, proof, advisory == "run"
        self._on_refusal, self._now = on_refusal, now
        self._keys = GatewayKeys(keys if keys is not None else f"{base}/gateway-jwks.json", issuer, now)
        self._generation = Generation(generation, f"{base}/gen", issuer, self._keys, now)
        self._executions = Executions(project, provider, signer, seen, on_execution, now)

    async def admit(self, params: Any, header: str | None = None) -> Admitted:
        """Checks the capability of one `tools/call` and uses it up.

        `params` are those of the request as they came on the wire, `header` the request's `Tool-Capability`, if any.
        """
        try:
            return await self._admit(params if isinstance(params, Mapping) else {}, header)
        except CapabilityRefusal as refusal:
            if self._on_refusal:
                self._on_refusal(refusal)
            raise

    async def _admit(self, params: Mapping[str, Any], header: str | None) -> Admitted:
        started_at = datetime.fromtimestamp(self._now(), UTC)
        meta = params.get("_meta")
        meta = meta if isinstance(meta, Mapping) else {}
        token = meta.get(CAPABILITY, header)
        if header is not None and token != header:
            refuse("capability_twice")

        parts = split(token)
        key = await self._keys.find(header_kid(parts.header, "toolcap+jwt"))
        if not key.key.verify(parts.signed, parts.signature):
            refuse("capability_signature")
        claims = read_claims(parts.payload)
        self._demand_place(claims)
        self._demand_time(claims, key)
        self._demand_call(claims, params)
        await self._generation.demand(claims.gen)
        if self._proof is not None:
            _demand_receipt(meta.get(RECEIPT), claims, self._project, self._proof)
        await self._consume(claims)
        return Admitted(claims, params.get("arguments", {}), started_at, self._executions)

    def _demand_place(self, claims: Claims) -> None:
        if claims.iss != self._issuer:
            refuse("capability_issuer")
        if claims.aud != self.audience:
            refuse("capability_audience")
        if claims.env != self._env:
            refuse("capability_environment")
        if claims.cnf is not None or (claims.adv is not None and not self._runs_advisory):
            refuse("capability_unsupported")

    def _demand_time(self, claims: Claims, key: PinnedKey) -> None:
        now = int(self._now())
        if not 0 < claims.exp - claims.iat <= _LONGEST_LIFE:
            refuse("capability_life")
        is_begun = max(claims.iat, claims.nbf) <= now + _LEEWAY
        # A key that was replaced signs nothing new, but what it signed just before still counts.
        until = key.valid_until
        is_live_key = until is None or claims.iat <= datetime.fromisoformat(until).timestamp() + _LEEWAY
        if not (is_begun and now < claims.exp + _LEEWAY and is_live_key):
            refuse("capability_time", f"the time here is {datetime.fromtimestamp(now, UTC).isoformat()}")

    def _demand_call(self, claims: Claims, params: Mapping[str, Any]) -> None:
        tool = claims.call["t"]
        if claims.call["m"] != "tools/call" or tool != params.get("name"):
            refuse("capability_tool")
        answers = {"input_responses": params["inputResponses"]} if "inputResponses" in params else {}
        try:
            asked = call_hash(self.audience, tool, params.get("arguments", {}), **answers)
        except JsonError as error:
            refuse("capability_not_bindable", str(error))
        if claims.call["h"] != asked:
            refuse("capability_arguments")

    async def _consume(self, claims: Claims) -> None:
        # Kept a minute longer than any clock here could still accept the token.
        try:
            first = self._store.consume(claims.aud, claims.jti, claims.exp + _LEEWAY + 60)
            first = await first if inspect.isawaitable(first) else first
        except Exception:
            refuse("capability_store")
        if first is not True:
            refuse("capability_used")


_ABSENT = object()


def call_hash(audience: str, tool: str, arguments: Any, input_responses: Any = _ABSENT) -> str:
    """base64url SHA-256 of the call document. Absent arguments count as {}."""
    call = {"v": 1, "aud": audience, "m": "tools/call", "t": tool, "a": arguments}
    if input_responses is not _ABSENT:
        call["i"] = input_responses
    return base64url(sha256(canonical(call)))


def _demand_receipt(receipt: Any, claims: Claims, project: str, pinned: KeySet) -> None:
    if not isinstance(receipt, Mapping):
        refuse("capability_receipt")
    try:
        verified = verify_receipt(json.dumps(receipt), pinned)
    except Refused as error:
        refuse("capability_receipt", str(error))
    payload = verified.payload
    is_ours = (verified.digest, payload.get("action"), payload.get("capability")) == (claims.dec, claims.txn, claims.jti)
    is_yes = payload.get("verdict") == "ALLOW" or payload.get("effect") == "advisory"
    is_decision = payload["typ"] == "decision/v1" and payload["project"] == project
    if not (is_ours and is_yes and is_decision):
        refuse("capability_receipt")
