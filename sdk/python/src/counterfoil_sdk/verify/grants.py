"""Grants at a place in the chain: what stands, and that a call leans on nothing that does not."""

from dataclasses import dataclass

from .matter import is_cleared
from .report import Fault
from .statement import Payload, millis

# A decision is entered within fifteen seconds, so it may have been judged by a grant that ended meanwhile.
_JUDGED_BEFORE = 60_000
# Ids of rules never begin so.
_PREFIX = "grt_"


@dataclass(frozen=True)
class _Standing:
    agent: str
    action: tuple[str, str]
    # Control from which it stands.
    start: int
    until: int


class Grants:
    def __init__(self) -> None:
        self._standing: dict[str, _Standing] = {}

    def follow(self, said: Payload, at: int) -> None:
        """Takes over what is said of grants; raises `Fault` for a change of one that does not stand, and for a call that leans on one."""
        match said["typ"]:
            case "grant/v1":
                self._change(said, at)
            case "kill/v1" if "scope" not in said:
                self._standing.clear()
            case "decision/v1" if is_cleared(said):
                self._gate(said)
            case _:
                # The other kinds say nothing of grants.
                pass

    def _change(self, said: Payload, at: int) -> None:
        for name in [name for name, grant in self._standing.items() if at - grant.until > _JUDGED_BEFORE]:
            del self._standing[name]
        stood = self._standing.pop(said["grant"], None)
        agent, action = said["agent"], (said["service"], said["verb"])
        stands = stood is not None and stood.until > at and (stood.agent, stood.action) == (agent, action)
        if stands == (said["event"] == "given"):
            raise Fault(f"gives a grant {'that stands already' if stands else 'anew that does not stand'}")
        if said["event"] != "removed":
            start = said["control"] if stood is None else stood.start
            self._standing[said["grant"]] = _Standing(agent, action, start, millis(said["until"]))

    def _gate(self, decision: Payload) -> None:
        named = [name for name in decision["rules"] if name.startswith(_PREFIX)]
        if decision["reason"] == "grant" and not named:
            raise Fault("lets a call go out by a grant, and names none")
        if not all(_lets_go(self._standing.get(name), decision) for name in named):
            raise Fault("lets a call go out by a grant that does not stand for it")


def _lets_go(grant: _Standing | None, decision: Payload) -> bool:
    """Whether it is this agent's and for this action, stood when the call was judged, and had not ended."""
    said = decision["class"]
    return (
        grant is not None
        and said is not None
        and (grant.agent, grant.action) == (decision["agent"], (said["service"], said["verb"]))
        and grant.start <= decision["control"]
        and millis(decision["at"]) < grant.until
    )
