"""One statement of each kind that the ledger key signs, and each of them with a member too few."""
from receipts import alone
from example import *

AT = "2026-11-30T11:20:00.120Z"
CHANGE = {"control": 6, "floor": 6, "gen": 0, "behalf": "operator", "authorization": None}
FINDING = digest(b"the finding's envelope")
HOLD, AGENT = "hld_019355a0c1007000800000000000e001", "agt_019355a0c0007000800000000000d001"


def statement(typ, **members):
    return {"typ": typ, "iss": ISS, "project": PROJECT, "at": AT} | members


def key():
    new = KEYS["decision"]
    text = f"counterfoil/possession/v1\n{PROJECT}\n{new.kid}\n"
    return statement("key/v1", **CHANGE, event="introduced", purpose="decision", provider=None,
                     key={"kty": "OKP", "crv": "Ed25519", "x": new.x}, thumbprint=new.kid, replaces=None, compromised_since=None,
                     possession=url64(new.sign(text.encode())))


def provider_key(**source):
    """As it is imported from a key set: its owner shows possession by its first statement."""
    new = KEYS["execution"]
    return statement("key/v1", **CHANGE, event="introduced", purpose="execution", provider="notes",
                     key={"kty": "OKP", "crv": "Ed25519", "x": new.x}, thumbprint=new.kid, replaces=None, compromised_since=None,
                     possession=None, **source)


SOURCE = {"url": "https://keys.notes.example/jwks.json", "host": "keys.notes.example", "at": AT, "digest": digest(b"the key set")}


def published(typ):
    return statement(typ, **CHANGE, document=digest(b"the text"), policy=digest(b"the bundle"), reason="first rules",
                     expires_at="2026-12-30T00:00:00.000Z")


STATEMENTS = [
    key(),
    published("rules/v1"),
    published("registry/v1"),
    statement("epoch/v1", epoch="2026-11-29", first=0, last=40, root=std64(sha(b"root")), counts={"decision": 20, "observation": 21}),
    statement("finding/v1", code="OUTCOME_UNKNOWN", action=ACTION, statement=digest(b"the decision"), seq=7),
    statement("clearance/v1", finding=FINDING, code="OUTCOME_UNKNOWN", action=ACTION, statement=digest(b"the late observation"), seq=9),
    statement("resolution/v1", behalf="operator", authorization=None, finding=FINDING, note="The provider was restarted; nothing ran."),
    statement("coverage/v1", **CHANGE, providers=[{"provider": "notes", "share": "all", "basis": "declared"}], reason=None),
    statement("settings/v1", **CHANGE, name="retention_days", value="30"),
    statement("tombstone/v1", behalf="retention", removal="retention", epoch="2026-08-31", first=0, last=12),
    statement("probe/v1", behalf="gateway", provider="notes", tool="note_list", began_at="2026-11-30T11:19:30.000Z",
              cases=[{"case": "missing", "outcome": "refused"}, {"case": "expired", "outcome": "passed"},
                     {"case": "changed_argument", "outcome": "unclear"}]),
    statement("kill/v1", **(CHANGE | {"control": 7, "floor": 7, "gen": 1}), reason="drill"),
    statement("hold/v1", event="expired", hold=HOLD, action=ACTION, decision=digest(b"the held decision")),
    statement("answer/v1", behalf="operator", authorization=None, by="login", hold=HOLD, action=ACTION, decision=digest(b"the held decision"),
              card=digest(b"the card"), answer="approve_once", grants=[], until="2026-11-30T12:20:00.000Z"),
    statement("grant/v1", **CHANGE, event="given", grant="grt_" + 8 * "0193", agent=AGENT, service="mail", verb="send",
              document=digest(b"the grant"), until="2026-11-30T12:20:00.000Z", answer=digest(b"the answer"), reason=None),
    statement("resume/v1", **CHANGE, reason="drill"),
    statement("breakglass/v1", **CHANGE, event="opened", until="2026-11-30T12:20:00.000Z", reason="The rules are being mended."),
    statement("shadow/v1", **CHANGE, event="opened", until="2026-12-07T11:20:00.000Z", reason="The first week."),
    statement("incident/v1", code="head_ran_ahead", behalf="log operator", reason="The clock of the database host was wrong."),
]


SCOPED = {f"{typ}_{name}": (f"{typ}/v1 for one {name} alone", statement(f"{typ}/v1", **CHANGE, reason=None, scope=scope))
          for typ in ("kill", "resume") for name, scope in (("agent", AGENT), ("connection", "key_" + 8 * "0193"), ("environment", "live"))}


def good():
    name = lambda payload: payload["typ"].split("/")[0]
    cases = {name(p): (f"{p['typ']}, signed by the ledger key", alone(signed(p, KEYS["ledger"]))) for p in STATEMENTS}
    imported = {"key_pasted": ("a provider's key that somebody pasted", provider_key()),
                "key_fetched": ("a provider's key out of a key set that was fetched", provider_key(source=SOURCE))}
    return cases | {name: (about, alone(signed(p, KEYS["ledger"]))) for name, (about, p) in (imported | SCOPED).items()}


def malformed():
    cases = {}
    for payload in STATEMENTS:
        last = list(payload)[-1]
        short = {name: value for name, value in payload.items() if name != last}
        typ = payload["typ"]
        cases[f"{typ.split('/')[0]}_without_{last}"] = (f"a member of {typ} is absent", alone(signed(short, KEYS["ledger"])))
    sources = {"key_source_null": ("a key that was not fetched has no source, and null is not none", None),
               "key_source_without_digest": ("a source says what came", {k: v for k, v in SOURCE.items() if k != "digest"}),
               "key_source_with_a_query": ("what is public for ever has no room for a secret",
                                           SOURCE | {"url": SOURCE["url"] + "?token=1"})}
    for name, (why, source) in sources.items():
        cases[name] = (why, alone(signed(provider_key(source=source), KEYS["ledger"])))
    return cases
