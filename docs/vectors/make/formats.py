"""The formats of docs/formats as a few pure functions: canonical bytes, keys, envelopes, entries, trees, notes.

Independent of the Rust code on purpose: where the two disagree, one of them is wrong.
"""
import base64, hashlib, hmac, json
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ISS = "https://gw.example/p/7-k3m9q2v8"
ORIGIN = ISS.removeprefix("https://")
PROJECT = "prj_019355a0c0007000800000000000a001"
ORDER = 2**252 + 27742317777372353535851937790883648493  # of the group (RFC 8032)


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def url64(raw):
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def std64(raw):
    return base64.b64encode(raw).decode()


def canonical(value):
    """RFC 8785 for documents without fractions; member names sort by UTF-16 code units."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def jcs(value):
    return canonical(value).encode("utf-8", "surrogatepass")


def digest(raw):
    return "sha256:" + sha(raw).hex()


class Key:
    """A published test key: its seed is one byte, 32 times."""

    def __init__(self, byte, purpose):
        self.byte, self.purpose = byte, purpose
        self.private = Ed25519PrivateKey.from_private_bytes(bytes([byte]) * 32)
        self.raw = self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.x = url64(self.raw)
        self.kid = thumbprint(self.x)

    def sign(self, message):
        return self.private.sign(message)

    def jwk(self, **changes):
        alg = "EdDSA" if self.purpose == "capability" else "Ed25519"
        return {"kty": "OKP", "crv": "Ed25519", "x": self.x, "kid": self.kid, "use": "sig", "alg": alg,
                "purpose": self.purpose} | changes


def thumbprint(x):
    return url64(sha(jcs({"crv": "Ed25519", "kty": "OKP", "x": x})))


KEYS = {purpose: Key(byte, purpose) for purpose, byte in
        [("decision", 0x11), ("capability", 0x12), ("ledger", 0x13), ("log", 0x14), ("execution", 0x21)]}
STRANGER = Key(0x31, "decision")  # in no key set
JWKS = {"iss": ISS, "keys": [key.jwk() for key in KEYS.values()]}


def signed(payload, key):
    return {"payload": payload, "signature": {"alg": "Ed25519", "kid": key.kid, "sig": url64(key.sign(jcs(payload)))}}


def scalar_of(key):
    head = bytearray(hashlib.sha512(bytes([key.byte]) * 32).digest()[:32])
    head[0] &= 248
    head[31] = head[31] & 127 | 64
    return int.from_bytes(head, "little")


def identity_nonce_signature(key, message):
    """R is the identity and S = k·a: OpenSSL accepts it, strict verification must not."""
    nonce = bytes([1]) + bytes(31)
    k = int.from_bytes(hashlib.sha512(nonce + key.raw + message).digest(), "little")
    return nonce + (k * scalar_of(key) % ORDER).to_bytes(32, "little")


def malleated(signature):
    s = int.from_bytes(signature[32:], "little") + ORDER
    return signature[:32] + s.to_bytes(32, "little")


GENESIS = digest(b"counterfoil/genesis/v1\n" + PROJECT.encode())


def entry_of(statement, seq, at, kind, prev):
    return {"v": 1, "project": PROJECT, "seq": seq, "epoch": at[:10], "at": at, "kind": kind,
            "body": digest(jcs(statement)), "prev": prev}


def leaf_hash(data):
    return sha(b"\x00", data)


def root(leaves):
    if not leaves:
        return sha(b"")
    if len(leaves) == 1:
        return leaves[0]
    k = 1 << (len(leaves) - 1).bit_length() - 1
    return sha(b"\x01", root(leaves[:k]), root(leaves[k:]))


def path(index, leaves):
    """Sibling hashes from the leaf up (RFC 9162, section 2.1.3.1)."""
    if len(leaves) == 1:
        return []
    k = 1 << (len(leaves) - 1).bit_length() - 1
    if index < k:
        return path(index, leaves[:k]) + [root(leaves[k:])]
    return path(index - k, leaves[k:]) + [root(leaves[:k])]


def consistency(old, leaves, whole=True):
    """RFC 9162, section 2.1.4.1."""
    if old == len(leaves):
        return [] if whole else [root(leaves)]
    k = 1 << (len(leaves) - 1).bit_length() - 1
    if old <= k:
        return consistency(old, leaves[:k], whole) + [root(leaves[k:])]
    return consistency(old - k, leaves[k:], False) + [root(leaves[:k])]


def key_id(key, name):
    return sha(name.encode(), b"\n\x01", key.raw)[:4]


def signature_line(key, text, name=ORIGIN, raw=None, id=None):
    return f"— {name} {std64((id or key_id(key, name)) + (raw or key.sign(text.encode())))}\n"


def checkpoint_text(size, root_hash, origin=ORIGIN):
    return f"{origin}\n{size}\n{std64(root_hash)}\n"


def note(text, *lines):
    return text + "\n" + "".join(lines)


def checkpoint(size, root_hash, origin=ORIGIN, key=None):
    text = checkpoint_text(size, root_hash, origin)
    return note(text, signature_line(key or KEYS["log"], text, origin))


def proof(index, hashes, note_text):
    return f"c2sp.org/tlog-proof@v1\nindex {index}\n" + "".join(std64(h) + "\n" for h in hashes) + "\n" + note_text


def salt(seed, name):
    return hmac.new(seed, name.encode(), hashlib.sha256).digest()[:16]


def disclosure(seed, name, value):
    return url64(("[" + ",".join(canonical(part) for part in (url64(salt(seed, name)), name, value)) + "]").encode())


def commitment(disclosed):
    return url64(sha(disclosed.encode()))
