"""Verify an evidence package offline: python3 verify_package.py package.zip jwks.json
Exit 10 UNANCHORED (it holds; that nothing follows, only the log operator says), 20 INCOMPLETE, 21 OMITTED, 40 BROKEN, 50 UNPINNED.
Needs Python 3.11 and PyPI `cryptography`, nothing beside it. It reads whole packages (from entry 0) into memory: it is an example."""
import base64, collections, functools, hashlib, json, sys, zipfile
from datetime import datetime, timedelta
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
NOT_CHECKED = """members of payloads one by one; what decides (control, bundles, kills, windows, grants, answers); counts of days; six-field statements; statements that
repeat, contradict, are late or are missing; charges; evaluation; witnesses: that the record ends here, only its operator says"""
P, Y8 = 2**255 - 19, 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826  # the points of small order, by y: 0, ±1, ±Y8
LASTING = {"key", "rules", "registry", "kill", "resume", "finding", "clearance", "resolution", "epoch", "tombstone", "incident"}
WRAPPED = {"execution-native": "execution", "vendor-wire": "execution", "catalog": "catalog", "webauthn": "answer"}
FILES = set("manifest.json entries.bin statements.jsonl new.checkpoint jwks.json provider-keys.json tombstones".split())
Key = collections.namedtuple("Key", "x purpose until provider")

class Verdict(Exception): pass
def need(holds, why, word="BROKEN"):
    if not holds: raise Verdict(word, why)
def sha(*parts): return hashlib.sha256(b"".join(parts)).digest()
def digest(raw): return "sha256:" + sha(raw).hex()
def once(pairs): return need(len(dict(pairs)) == len(pairs), "a member stands twice") or dict(pairs)
def read(raw): return json.loads(raw, object_pairs_hook=once)
def time(text): return datetime.fromisoformat(text)
def canonical(value): return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
def b64(text): return base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
def thumbprint(x): return base64.urlsafe_b64encode(sha(canonical({"crv": "Ed25519", "kty": "OKP", "x": x}))).decode().rstrip("=")
def small(point): return int.from_bytes(point, "little") % 2**255 % P in (0, 1, P - 1, Y8, P - Y8)
def holds(x, signature, message):  # as strict as verify_strict: OpenSSL lets small orders through
    try:
        Ed25519PublicKey.from_public_bytes(b64(x)).verify(b64(signature), message)
        return not small(b64(x)) and not small(b64(signature)[:32])
    except (InvalidSignature, ValueError):
        return False
def checkpoint(note, pins, iss):  # a C2SP signed note: its size and root
    text, _, lines = note.partition("\n\n")
    origin, size, root = text.split("\n")
    need("https://" + origin == iss, "a checkpoint of another log")
    for _, name, raw in (line.split(" ") for line in lines.splitlines()):
        for x, purpose in pins.values():
            if purpose == "log" and name == origin and b64(raw)[:4] == sha(origin.encode(), b"\n\x01", b64(x))[:4]:
                need(holds(x, base64.b64encode(b64(raw)[4:]).decode(), text.encode() + b"\n"), "the checkpoint's signature does not hold")
                return int(size), b64(root)
    need(False, "no log key that you pinned signed the checkpoint", "UNPINNED")
def grow(tree, node):  # complete subtrees from the left, (leaves, hash)
    tree.append(node)
    while len(tree) > 1 and tree[-1][0] == tree[-2][0]:
        (leaves, right), (_, left) = tree.pop(), tree.pop()
        tree.append((2 * leaves, sha(b"\x01", left, right)))
def root_of(tree): return functools.reduce(lambda right, left: sha(b"\x01", left, right), [node for _, node in reversed(tree)])
def entries(bundle, project):
    at, place, seq, prev = "", 0, 0, digest(b"counterfoil/genesis/v1\n" + project.encode())
    while place < len(bundle):
        end = place + 2 + int.from_bytes(bundle[place:place + 2])
        need(end <= len(bundle), "entries.bin ends inside an entry")
        entry = read(leaf := bundle[place + 2:end])
        need(canonical(entry) == leaf and entry["seq"] == seq and entry["project"] == project, f"entry {seq}: not canonical, or of another place")
        need(entry["prev"] == prev and entry["at"] >= at and entry["epoch"] == entry["at"][:10], f"entry {seq}: does not follow the one before")
        yield entry, leaf
        seq, prev, at, place = seq + 1, digest(leaf), entry["at"], end
def follow(said, n, kid, keys, pins):  # key/v1
    known, x = said["thumbprint"], said["key"]["x"]
    if said["event"] in ("retired", "revoked"):
        keys[known] = keys[known]._replace(until=n)
        return
    need(thumbprint(x) == known not in keys, f"entry {n}: introduces no key, or one that is there")
    need(kid != known or n == 0 and pins.get(kid) == (x, "ledger"), "entry 0 introduces a ledger key that you did not pin", "UNPINNED")
    keys[known] = Key(x, said["purpose"], None, said["provider"])
def statement(body, line, entry, keys, pins, iss):
    n, said, kid = entry["seq"], body["payload"], body["signature"]["kid"]
    need(digest(canonical(body)) == entry["body"] and canonical(body) in line, f"entry {n}: another body")
    typ = said["typ"].split("/")[0]
    kind, late = WRAPPED[said["form"]] if typ == "received" else typ, time(entry["at"]) - time(said["at"])
    need((kind, said.get("iss", iss), said["project"]) == (entry["kind"], iss, entry["project"]), f"entry {n}: of another kind or project")
    need(typ != "decision" or timedelta(seconds=-2) <= late <= timedelta(seconds=15), f"entry {n}: of another time")
    before = keys.get(kid)
    if typ == "key": follow(said, n, kid, keys, pins)
    need(key := before or keys.get(kid), f"entry {n}: key {kid} is found only inside the package", "UNPINNED")
    wanted = "decision" if typ in ("decision", "observation") else "ledger"
    need((key.until, key.purpose) == (None, wanted), f"entry {n}: its key had ended, or is a {key.purpose} key")
    need(holds(key.x, body["signature"]["sig"], canonical(said)), f"entry {n}: its signature does not hold")
    return typ, said
def cleared(decision): return decision["verdict"] == "ALLOW" or decision["effect"] == "advisory"
def finding(said, keys, decisions):  # what a wrapped execution gives, as far as we look
    native = read(b64(said["bytes"]))
    execution, key = native["payload"], keys.get(native["signature"]["kid"])
    held = bool(key and key.purpose == "execution" and holds(key.x, native["signature"]["sig"], canonical(execution)))
    need(said["holds"] == (held and key.until is None), "a wrapper says otherwise than the signature in it")
    named = decisions.get(execution["decision"])
    stray = not named or named["action"] != execution["action"]
    if stray or not said["holds"]:
        return "EXECUTION_WITHOUT_DECISION" if stray else "REVOKED_KEY" if held else "INVALID_VENDOR_SIGNATURE"
    ran = execution["outcome"] in ("EXECUTED", "FAILED") and execution["provider"] == key.provider == named["provider"]
    return "EXECUTED_AGAINST_VERDICT" if ran and not cleared(named) else None

def verify(package, jwks):
    trust, zipped, count = read(jwks), zipfile.ZipFile(package), collections.Counter()
    iss, pins = trust["iss"], {thumbprint(key["x"]): (key["x"], key["purpose"]) for key in trust["keys"]}
    need("ledger" in [purpose for _, purpose in pins.values()], "you pinned no ledger key", "UNPINNED")
    files = once([(name, zipped.read(name)) for name in zipped.namelist()])
    need(FILES <= set(files), f"{FILES - set(files)} is not in the package", "INCOMPLETE")
    need("old.checkpoint" not in files, "it starts later than entry 0, which this example does not read", "USAGE")
    (size, root), seal = checkpoint(files["new.checkpoint"].decode(), pins, iss), read(files["manifest.json"])
    lines, graves, tree, keys = files["statements.jsonl"].split(b"\n"), read(files["tombstones"]), [], {}
    decisions, wanted, stand, absent, floods = {}, {}, set(), {}, collections.Counter()
    need(lines.pop() == b"", "statements.jsonl ends inside a line", "INCOMPLETE")
    for entry, leaf in entries(files["entries.bin"], seal["payload"]["project"]):
        n = entry["seq"]
        need(n < len(lines), "statements.jsonl ends before the entries", "INCOMPLETE")
        line, _ = read(lines[n]), grow(tree, (1, sha(b"\0", leaf)))
        need(line.pop("seq") == n and len(line) == 1, f"entry {n}: another line stands beside it")
        count.update([*line])
        if "body" not in line:
            need(entry["kind"] not in LASTING, f"entry {n}: a body of kind {entry['kind']} is always there")
            absent |= {n: entry["epoch"]} if "absent" in line else {}
            continue
        typ, said = statement(line["body"], lines[n], entry, keys, pins, iss)
        if typ == "decision":
            decisions[entry["body"]] = said
        elif typ == "finding":
            stand.add((said["code"], said["statement"]))
        elif typ == "observation" and said["status"] != "not_sent" and not cleared(decisions.get(said["decision"], {"verdict": "ALLOW"})):
            wanted["EXECUTED_AGAINST_VERDICT", entry["body"]] = entry["at"]
        elif said.get("form") == "execution-native" and (code := finding(said, keys, decisions)):
            floods[code] += 1  # findings about forged and foreign statements are capped: demand no more than the first
            wanted |= {(code, entry["body"]): entry["at"]} if floods[code] <= 20 or code == "EXECUTED_AGAINST_VERDICT" else {}
        elif typ == "tombstone":
            need({"seq": n, "first": said["first"], "last": said["last"]} in graves, f"entry {n}: the tombstone covers otherwise")
            days = {absent.pop(seq) for seq in [*absent] if said["first"] <= seq <= said["last"]}
            need(days <= {said["epoch"]}, f"entry {n}: a tombstone of another day")
    need(tree and n + 1 >= size, "entries.bin ends before the checkpoint", "INCOMPLETE")
    need(len(lines) == n + 1 == size and root_of(tree) == root, "the entries do not give the checkpoint's root")
    need((key := keys.get(seal["signature"]["kid"])) and key.purpose == "ledger", "no ledger key signed the manifest", "UNPINNED")
    need(holds(key.x, seal["signature"]["sig"], canonical(seal["payload"])), "the manifest's signature does not hold")
    for kid in [key["kid"] for key in read(files["jwks.json"])["keys"]] + [line["thumbprint"] for line in read(files["provider-keys.json"])["keys"]]:
        need(kid in keys or kid in pins, f"key {kid} is found only inside the package", "UNPINNED")
    for name, packed in seal["payload"]["files"].items():
        need(packed == {"bytes": len(files.get(name, b"")), "digest": digest(files.get(name, b""))}, f"{name} is not as it was packed")
    need(not absent, f"no tombstone covers entries {[*absent][:9]}", "INCOMPLETE")
    for (code, about), at in wanted.items():  # of a younger cause the finding may follow
        need((code, about) in stand or time(entry["at"]) <= time(at) + timedelta(minutes=15), f"{code} about {about} stands nowhere", "OMITTED")
    who = {f"{key.provider} {kid}": "you" if kid in pins else "its operator only" for kid, key in keys.items() if key.provider}
    return f"{size} entries, {dict(count)}; keys of providers and who vouches for them: {who}"
if __name__ == "__main__":
    try:
        print("UNANCHORED:", verify(sys.argv[1], open(sys.argv[2], "rb").read()) + "\nnot checked:", NOT_CHECKED)
        sys.exit(10)
    except (Verdict, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as why:
        word, text = why.args if isinstance(why, Verdict) else ("BROKEN", repr(why))
        print(f"{word}: {text}")
        sys.exit({"USAGE": 2, "INCOMPLETE": 20, "OMITTED": 21, "BROKEN": 40, "UNPINNED": 50}[word])
