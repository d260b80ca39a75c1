"""Export streams: the small record of packages.py as it would come, honestly and otherwise. Written from docs/formats/export.md."""
from packages import KEYS, Record, at, honest, ledger_statement
from example import *


def stream(record, first=0, absent=(), batch=4):
    """Lines from `first` on, a checkpoint after every few entries and at the end."""
    entries, lines = record.entries(), []
    for seq in range(first, len(entries)):
        lines.append({"entry": entries[seq], "body": None if seq in absent else record.rows[seq][1]})
        if (seq + 1) % batch == 0 or seq + 1 == len(entries):
            lines.append({"checkpoint": record.head(seq + 1)})
    return lines


def case(about, lines, answer, size, jwks=JWKS):
    return {"about": about, "jwks": jwks, "lines": [line if isinstance(line, str) else jcs(line).decode() for line in lines], "answer": answer, "size": size}


def buried(first, last, day="2026-11-30"):
    record = honest()
    record.add("tombstone", ledger_statement("tombstone/v1", 20, behalf="retention", removal="retention", epoch=day, first=first, last=last), 20)
    return record


def changed(lines, place, change):
    copy = json.loads(json.dumps(lines))
    change(copy[place])
    return copy


def cases():
    record = honest()
    whole, size = stream(record), len(record.rows)
    forked = checkpoint(size, sha(b"another tree"))
    no_log = {"iss": ISS, "keys": [key for key in JWKS["keys"] if key["purpose"] != "log"] + [Key(0x77, "log").jwk()]}
    no_ledger = {"iss": ISS, "keys": [key for key in JWKS["keys"] if key["purpose"] != "ledger"] + [Key(0x78, "ledger").jwk()]}
    return {
        "honest": case("ten entries, a checkpoint after every four", whole, "FOLLOWED", size),
        "nothing_new": case("the same checkpoint again", whole + whole[-1:], "FOLLOWED", size),
        "bodies_erased": case("null where a tombstone that follows covers it", stream(buried(6, 8), absent=[6, 7, 8]), "FOLLOWED", size + 1),
        "body_absent_without_tombstone": case("a body is null and nothing says why", stream(record, absent=[7]), "BROKEN", size),
        "tombstone_of_another_day": case("it explains nothing of this day", stream(buried(6, 8, "2026-11-29"), absent=[6]), "BROKEN", size + 1),
        "key_erased": case("a kind that cannot be erased", stream(record, absent=[2]), "BROKEN", 2),
        "body_changed": case("another body than its entry names", changed(whole, 7, lambda line: line["body"]["payload"].update(verdict="DENY")), "BROKEN", 6),
        "entry_missing": case("the one after it names another", whole[:5] + whole[6:], "BROKEN", 4),
        "entry_twice": case("a number that was there", whole[:2] + whole[1:], "BROKEN", 2),
        "time_changed": case("the entry's own hash is another, so the next does not follow", changed(whole, 0, lambda line: line["entry"].update(at=at(59))), "BROKEN", 1),
        "starts_later": case("without entry 0 no key is known", stream(record, first=3), "BROKEN", 0),
        "checkpoint_ahead": case("of more entries than came", whole[:4] + [{"checkpoint": record.head(8)}], "BROKEN", 4),
        "checkpoint_of_another_tree": case("of as many entries, with another root", whole[:-1] + [{"checkpoint": forked}], "BROKEN", size),
        "forked": case("two checkpoints of one size", whole + [{"checkpoint": forked}], "FORKED", size),
        "shrunk": case("a newest checkpoint of fewer entries", whole + [{"checkpoint": record.head(4)}], "SHRUNK", size),
        "other_log_key": case("a log key that nobody pinned", whole, "BROKEN", 4, no_log),
        "other_ledger_key": case("a ledger key that nobody pinned", whole, "BROKEN", 0, no_ledger),
        "not_a_line": case("neither an entry nor a checkpoint", whole[:5] + ['{"entry":null}'], "BROKEN", 4),
        "no_body_member": case("null is written, never left out", whole[:5] + [{"entry": record.entries()[4]}], "BROKEN", 4),
    }
