"""Which 32 bytes may be an Ed25519 key at all.

OpenSSL, and so `cryptography`, takes points of small order, under which signatures hold for messages that nobody signed. It
also takes second spellings, and bytes that are on no curve until they are used. All three are refused here.
"""

_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P
# y of the points of order eight; with 0, 1 and -1 these are all that have small order.
_Y8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL = frozenset({0, 1, _P - 1, _Y8, _P - _Y8})


def is_small_order(point: bytes) -> bool:
    return _y(point) % _P in _SMALL


def is_usable_key(point: bytes) -> bool:
    return len(point) == 32 and _y(point) < _P and not is_small_order(point) and _is_on_curve(_y(point))


def _y(point: bytes) -> int:
    return int.from_bytes(point, "little") % 2**255


def _is_on_curve(y: int) -> bool:
    """Whether x² = (y² − 1) / (d·y² + 1) has a root (RFC 8032, section 5.1.3), by Euler's criterion."""
    x2 = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    return x2 == 0 or pow(x2, (_P - 1) // 2, _P) == 1
