"""A vendor's own list of what its tools do, as `received/v1` holds it.

    {"v":1,"tools":[{"name":"send","aliases":["SEND"],"signals":{"op":"send","destination":"external"}}],
     "signature":{"kid":"k1","alg":"Ed25519","value":"<base64url>"}}

The signature is over JCS of the body without `signature`. Promised: bytes that read have one reading. Not promised: that a
tool does what its entry says; it is the vendor's word.
"""

from dataclasses import dataclass
from typing import Any

from ..formats.canonical import canonical
from ..formats.encoding import from_base64url
from ..formats.keys import PublicKey
from ..formats.shapes import WRAPPED, ShapeError, demand
from ..formats.strict_json import Profile, parse

_MAX_CATALOG = 96 * 1024
_MAX_NAME = 256
_SIGNATURE = WRAPPED["vendor-wire"]["members"]["signature"]
_SIGNALS = {"op": "operation", "data_class": "data_class", "destination": "destination", "reversibility": "reversibility", "reversible": "bool"}


@dataclass(frozen=True)
class Catalog:
    signed: bytes
    signature: str

    def holds_under(self, key: PublicKey) -> bool:
        data = from_base64url(self.signature)
        return data is not None and key.verify(self.signed, data)


def read_catalog(data: bytes) -> Catalog:
    """Raises `JsonError` or `ShapeError` for what is none."""
    body = parse(data, Profile.FOREIGN, _MAX_CATALOG)
    demand(body, {"v": "int", "tools": ["any"], "signature": _SIGNATURE}, "$")
    if body["v"] != 1:
        raise ShapeError(f"`$.v`: version {body['v']}")
    names: set[str] = set()
    for at, tool in enumerate(body["tools"]):
        _demand_tool(tool, f"$.tools[{at}]")
        if tool["name"] in names:
            raise ShapeError(f"`$.tools[{at}].name`: stated twice")
        names.add(tool["name"])
    said = {name: value for name, value in body.items() if name != "signature"}
    return Catalog(canonical(said), body["signature"]["value"])


def _demand_tool(tool: Any, path: str) -> None:
    """What is absent or null is not claimed."""
    optional = {"provider?": "any", "server?": "any"}
    if isinstance(tool, dict):
        tool = {"aliases": [], "provider": None, "server": None, **tool}
    demand(tool, {"name": "any", "aliases": ["any"], "signals": "any", **optional}, path)
    texts = [tool["name"], *tool["aliases"]]
    if not all(isinstance(name, str) and 1 <= len(name.encode()) <= _MAX_NAME for name in texts):
        raise ShapeError(f"`{path}`: a name has 1 to {_MAX_NAME} bytes")
    if not all(value is None or isinstance(value, str) for value in (tool["provider"], tool["server"])):
        raise ShapeError(f"`{path}`: provider and server are texts")
    signals = tool["signals"]
    if isinstance(signals, dict):
        signals = {**dict.fromkeys(_SIGNALS), **signals}
    demand(signals, {f"{name}?": pattern for name, pattern in _SIGNALS.items()}, f"{path}.signals")
