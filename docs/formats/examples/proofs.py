"""What every verifier of a transparency log needs, and nothing about receipts:
SHA-256, base64 with one spelling, Ed25519 as strict as `verify_strict`, the root of an inclusion path.
"""
import base64, hashlib
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from strict_json import need

# The y coordinates of the eight points of small order are 0, 1, -1, Y8 and -Y8.
P, Y8 = 2**255 - 19, 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def base64url(raw):
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def unbase64(text, url=False):  # the one spelling of these bytes, no other
    raw = base64.b64decode(text + "=" * (-len(text) % 4 * url), b"-_" if url else None, validate=True)
    need((base64url(raw) if url else base64.b64encode(raw).decode()) == text, "base64 in another spelling")
    return raw


def small_order(point):
    return int.from_bytes(point, "little") % 2**255 % P in (0, 1, P - 1, Y8, P - Y8)


def sound(key):  # under a key of small order anything would verify, and OpenSSL lets it through
    return len(key) == 32 and int.from_bytes(key, "little") % 2**255 < P and not small_order(key)


def signed_by(key, signature, message):
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except InvalidSignature:
        return False
    return sound(key) and not small_order(signature[:32])


def root_of(node, index, size, path):  # RFC 9162, section 2.1.3.2
    last = size - 1
    for sibling in path:
        need(last > 0, "the path is too long")
        if index % 2 or index == last:
            node = sha256(b"\x01", sibling, node)
            while index and not index % 2:
                index, last = index // 2, last // 2
        else:
            node = sha256(b"\x01", node, sibling)
        index, last = index // 2, last // 2
    need(last == 0, "the path is too short")
    return node
