"""Keys of a package: those that the chain introduced from its first entry on, or, where the package starts later, those that
the holder pinned.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..execution.read import ReadExecution
from ..formats.canonical import signed_text
from ..formats.encoding import from_base64url
from ..formats.keys import KeyRefused, KeySet, PublicKey
from .base import Base
from .catalog import Catalog
from .matter import Standing
from .report import Fault, ProviderPin, Report, broken, unpinned
from .statement import Entry, Payload, SignedStatement


@dataclass
class _Known:
    key: PublicKey
    purpose: str
    provider: str | None
    introduced: int
    """Number of its `key/v1` entry."""
    ended: int | None = None
    is_revoked: bool = False

    def counts_at(self, seq: int) -> bool:
        return self.introduced < seq and (self.ended is None or self.ended >= seq)

    def standing(self, read: ReadExecution | Catalog, seq: int) -> Standing:
        """What this key's signature is worth at a place."""
        if self.introduced >= seq or not read.holds_under(self.key):
            return Standing()
        return Standing(has_ended=True) if self.ended is not None and self.ended < seq else Standing(self.provider)


class Keyring:
    def __init__(self, base: Base, pinned: KeySet) -> None:
        self._base = base
        self._pinned = pinned
        self._trusted = {key.kid for key in pinned.keys if key.purpose == "ledger"}
        self._known: dict[str, _Known] = {}
        # Providers' keys from before the first entry: the package's word, unless the holder pinned them.
        self._earlier = _earlier_keys(base)

    def demand_signature(self, statement: SignedStatement, entry: Entry) -> None:
        """Raises `Fault` unless a key of the right purpose that counts here signed the statement."""
        if not self._trusted:
            raise Fault(f"the first ledger key `{statement.kid}` is not one of those trusted", "untrusted")
        if not statement.holds_under(self._signer(statement, entry)):
            raise Fault(f"signature does not hold under key `{statement.kid}`")

    def follow(self, said: Payload, seq: int) -> None:
        """Takes over what a `key/v1` says. Its signature was checked before."""
        if said["event"] == "introduced":
            return self._introduce(said, seq)
        kid, known = said["thumbprint"], self._known.get(said["thumbprint"])
        if known is None:
            if self._base.first == 0:
                raise Fault(f"ends key `{kid}`, which no entry before this one introduced", "unknown")
            # The entry that introduced it stands before the first of this package.
            if (earlier := self._earlier.get(kid)) and earlier.ended is None:
                earlier.ended = seq
            return
        if known.purpose != said["purpose"]:
            raise _other_purpose(kid, known.purpose, said["purpose"])
        is_revoked = said["event"] == "revoked"
        # A retired key can still turn out to have been stolen.
        if known.ended is not None and (known.is_revoked or not is_revoked):
            raise Fault(f"ends key `{kid}`, which entry {known.ended} ended")
        known.ended = seq if known.ended is None else known.ended
        known.is_revoked = is_revoked

    def can_sign(self, provider: str, seq: int) -> bool:
        """Whether a key of the provider counts at that place."""
        return any(key.provider == provider and key.counts_at(seq) for _, key in self._providers())

    def standing(self, read: ReadExecution, received: Payload, seq: int) -> tuple[Standing, str | None]:
        """What the signature is worth, and the key that the statement names.

        An alias that the wrapper resolves to no key is tried against every key: the log operator cannot disown a
        statement by forgetting whose it is.
        """
        named = read.kid if received["form"] == "execution-native" else received["signer"]["thumbprint"]
        if named is not None:
            key = self._find(named)
            return (key.standing(read, seq), named) if key else (Standing(), None)
        for kid, key in self._introduced():
            standing = key.standing(read, seq)
            if standing.holds:
                return standing, kid
        return Standing(), None

    def has_signed(self, catalog: Catalog, received: Payload, seq: int) -> bool:
        """Whether a key that counts there signed it: the one that the wrapper says its key id stood for, else any."""
        named = received["signer"]["thumbprint"]
        if named is not None:
            key = self._find(named)
            return key is not None and key.standing(catalog, seq).holds
        return any(key.standing(catalog, seq).holds for _, key in self._introduced())

    def vouch(self, report: Report) -> None:
        """The manifest's signer, the package's own key files, and who vouches for each provider's key."""
        self._demand_manifest()
        for pin in self._base.jwks.keys:
            known, pinned = self._known.get(pin.kid), self._pinned.by_kid(pin.kid)
            purposes = [key.purpose for key in (known, pinned) if key]
            if pin.purpose not in purposes and pin.kid not in self._earlier:
                raise unpinned(f"key `{pin.kid}` is found only inside the package")
        for line in self._base.provider_keys:
            self._demand_line(line)
        for kid, key in self._providers():
            pinned = self._pinned.by_kid(kid)
            is_pinned = pinned is not None and pinned.purpose == "execution"
            report.providers.append(ProviderPin(str(key.provider), kid, "holder" if is_pinned else "operator"))

    def _signer(self, statement: SignedStatement, entry: Entry) -> PublicKey:
        kid, purpose = statement.kid, statement.kind.purpose
        if entry["seq"] == 0 and statement.payload["typ"] == "key/v1":
            return self._first_signer(kid, statement.payload)
        known = self._known.get(kid)
        if known:
            if known.purpose != purpose:
                raise _other_purpose(kid, known.purpose, purpose)
            if known.ended is not None:
                raise Fault(f"signed by key `{kid}`, which entry {known.ended} ended")
            return known.key
        unknown = _unknown(kid)
        pin = self._pinned.by_kid(kid)
        if self._base.first == 0 or pin is None:
            raise unknown
        if pin.purpose != purpose:
            raise _other_purpose(kid, pin.purpose, purpose)
        if not pin.counts_at(entry["at"]):
            raise unknown
        return pin.key

    def _first_signer(self, kid: str, first: Payload) -> PublicKey:
        """The chain's first statement introduces the ledger key that signs it, and that one is trusted."""
        if (first["purpose"], first["event"], first["thumbprint"]) != ("ledger", "introduced", kid):
            raise _unknown(kid)
        if kid not in self._trusted:
            raise Fault(f"the first ledger key `{kid}` is not one of those trusted", "untrusted")
        return _key_of(first)

    def _introduce(self, said: Payload, seq: int) -> None:
        kid, key, possession = said["thumbprint"], _key_of(said), said["possession"]
        if kid in self._known:
            raise Fault(f"key `{kid}` was introduced before")
        # An execution key is imported from its owner, who shows possession by its first statement.
        is_shown = said["purpose"] == "execution" if possession is None else _possesses(key, said, possession)
        if not is_shown:
            raise Fault(f"key `{kid}` did not sign for its possession")
        self._known[kid] = _Known(key, said["purpose"], said["provider"], seq)

    def _find(self, kid: str) -> _Known | None:
        known = self._known.get(kid)
        is_provider = known is not None and known.purpose == "execution" and known.provider is not None
        return known if is_provider else self._earlier.get(kid)

    def _introduced(self) -> Iterator[tuple[str, _Known]]:
        for kid, known in self._known.items():
            if known.purpose == "execution" and known.provider is not None:
                yield kid, known

    def _providers(self) -> Iterator[tuple[str, _Known]]:
        yield from self._introduced()
        yield from self._earlier.items()

    def _demand_line(self, line: dict[str, Any]) -> None:
        kid = line["thumbprint"]
        key = self._find(kid)
        if key is None:
            raise unpinned(f"key `{kid}` is found only inside the package")
        says = (line["provider"], line["introduced"], line["ended"], line["key"]["x"])
        if says != (key.provider, key.introduced, key.ended, key.key.x):
            raise broken(f"provider-keys.json: `{kid}` is not as in the record")

    def _demand_manifest(self) -> None:
        payload, (kid, sig) = self._base.manifest, self._base.manifest_signature
        keys = [key for key in (self._known.get(kid), self._pinned.by_kid(kid)) if key and key.purpose == "ledger"]
        if not keys:
            raise unpinned(f"manifest.json is signed by key `{kid}`")
        signature = from_base64url(sig)
        if signature is None or not keys[0].key.verify(signed_text(payload), signature):
            raise broken("manifest.json: signature does not hold")


def _unknown(kid: str) -> Fault:
    return Fault(f"signed by key `{kid}`, which no entry before this one introduced", "unknown")


def _other_purpose(kid: str, found: str, wanted: str) -> Fault:
    return Fault(f"signed by key `{kid}` of purpose {found}; {wanted} is wanted")


def _possesses(key: PublicKey, said: Payload, possession: str) -> bool:
    signature = from_base64url(possession)
    message = f"counterfoil/possession/v1\n{said['project']}\n{said['thumbprint']}\n"
    return signature is not None and key.verify(message.encode(), signature)


def _key_of(said: Payload) -> PublicKey:
    jwk = said["key"]
    if (jwk["kty"], jwk["crv"]) != ("OKP", "Ed25519"):
        raise Fault("key is not of kty OKP and crv Ed25519")
    key = PublicKey.parse(jwk["x"])
    if key.thumbprint != said["thumbprint"]:
        raise Fault(f"key `{said['thumbprint']}` has another thumbprint")
    return key


def _earlier_keys(base: Base) -> dict[str, _Known]:
    earlier: dict[str, _Known] = {}
    for line in base.provider_keys:
        if line["introduced"] >= base.first:
            continue
        # An end inside the package is taken from its entry, one before from here.
        ended = line["ended"] if line["ended"] is not None and line["ended"] < base.first else None
        try:
            key = PublicKey.parse(line["key"]["x"])
        except KeyRefused:
            continue
        earlier[key.thumbprint] = _Known(key, "execution", line["provider"], line["introduced"], ended)
    return earlier
