"""What decides at a place in the chain, as the entries before it make it: control, floor, generation, windows, documents."""

from typing import Literal

from .matter import is_cleared
from .report import Fault
from .statement import Payload, millis

Numbers = tuple[int, int, int]
Floor = Literal["follows", "stays", "stays or follows"]

_GIVES = frozenset(("given", "renewed", "opened"))
_NEVER = -1


class Control:
    def __init__(self) -> None:
        self._control = self._floor = self._gen = 0
        self._is_killed = False
        # Agents, connections and environments that are killed, by their ids.
        self._stopped: set[str] = set()
        # Until when windows stand, or stood; time alone ends them too.
        self._until = {"breakglass/v1": _NEVER, "shadow/v1": _NEVER}
        self._has = {"registry/v1": False, "rules/v1": False}
        # The bundle in force from a control number on, ascending. What no decision may name any more is dropped.
        self._bundles: list[tuple[int, str]] = []

    def follow(self, said: Payload, at: int) -> None:
        """Takes over what a statement changes; raises `Fault` if it does not follow. `at` is its entry's time."""
        match said["typ"]:
            case "key/v1":
                self._step(said, "stays or follows")
            case "registry/v1" | "rules/v1":
                self._publish(said)
            case "kill/v1":
                self._kill(said)
            case "resume/v1":
                self._step(said, "stays")
                if "scope" in said:
                    self._stopped.discard(said["scope"])
                else:
                    self._is_killed = False
            case "grant/v1":
                self._step(said, "stays" if said["event"] in _GIVES else "follows")
            case "breakglass/v1" | "shadow/v1":
                is_open = said["event"] in _GIVES
                self._until[said["typ"]] = millis(said["until"]) if is_open else _NEVER
                self._step(said, "stays" if is_open else "follows")
            case "coverage/v1" | "settings/v1":
                if _numbers(said) != self._numbers:
                    raise _differs(said, self._numbers)
            case "decision/v1" if is_cleared(said):
                self._gate(said, at)
            case _:
                # The other kinds change nothing that decides.
                pass

    @property
    def _numbers(self) -> Numbers:
        return self._control, self._floor, self._gen

    def _kill(self, said: Payload) -> None:
        """A kill of the whole project counts a generation; one of an agent, a connection or an environment does not."""
        if "scope" in said:
            self._step(said, "follows")
            self._stopped.add(said["scope"])
        else:
            self._step(said, "follows", kills=1)
            self._is_killed = True
            self._until = dict.fromkeys(self._until, _NEVER)

    def _publish(self, said: Payload) -> None:
        typ = said["typ"]
        # The first registry takes nothing away; later ones may.
        is_later = typ == "registry/v1" and self._has[typ]
        self._step(said, "follows" if is_later else "stays or follows")
        self._has[typ] = True
        if all(self._has.values()):
            self._bundles.append((self._control, said["policy"]))

    def _step(self, said: Payload, floor: Floor, kills: int = 0) -> None:
        control, gen = self._control + 1, self._gen + kills
        moved, kept = (control, control, gen), (control, self._floor, gen)
        allowed = {"follows": (moved,), "stays": (kept,), "stays or follows": (moved, kept)}[floor]
        numbers = _numbers(said)
        if numbers not in allowed:
            raise _differs(said, kept)
        self._control, self._floor, self._gen = numbers
        in_force = max((start for start, _ in self._bundles if start <= self._floor), default=0)
        self._bundles = [bundle for bundle in self._bundles if bundle[0] >= in_force]

    def _gate(self, decision: Payload, at: int) -> None:
        """A call that may go out was judged by what was in force."""
        control = decision["control"]
        policy = next((policy for start, policy in reversed(self._bundles) if start <= control), None)
        reasons = (
            (self._is_killed, "while the project is killed"),
            (
                not self._stopped.isdisjoint((decision["agent"], decision["via"], decision["env"])),
                "for an agent, a connection or an environment that is killed",
            ),
            (decision["gen"] != self._gen, "under another kill generation"),
            (control > self._control, "under a control number that was not reached"),
            (control < self._floor, "under what was no longer in force"),
            (not self._windows_carry(decision, at), "by a window that does not stand or softens no such verdict"),
            (policy is None, "before registry and rules were published"),
            (decision["policy"] != policy, "under another policy than was in force"),
        )
        for holds, why in reasons:
            if holds:
                raise Fault(f"lets a call go out {why}")

    def _windows_carry(self, decision: Payload, at: int) -> bool:
        """Whether every window that a cleared decision leans on stands. Shadow softens what published rules say, nothing else."""
        reason = decision["reason"]
        is_softened = reason in ("rule", "no_rule") and at < self._until["shadow/v1"]
        leans_on_breakglass = reason == "break_glass" or "break_glass" in decision["marks"]
        if decision["effect"] == "advisory" and not is_softened:
            return False
        return not leans_on_breakglass or at < self._until["breakglass/v1"]


def _numbers(said: Payload) -> Numbers:
    return said["control"], said["floor"], said["gen"]


def _differs(said: Payload, follows: Numbers) -> Fault:
    stands, wanted = ("control {}, floor {}, gen {}".format(*numbers) for numbers in (_numbers(said), follows))
    return Fault(f"says {stands}; the rest of the record gives {wanted}")
