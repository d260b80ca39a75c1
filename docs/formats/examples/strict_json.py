"""The strict reader: JSON that has one reading only, and exactly the members of its format.

`read` refuses duplicate and non-ASCII member names, numbers that are not integers up to 2^53-1,
lone surrogates, invalid UTF-8 and deep nesting. `fits` compares with statements.json.
Inside these limits `canonical` equals RFC 8785. A refusal is a ValueError.
"""
import json, pathlib, re
from datetime import datetime

FORMAT = json.loads(pathlib.Path(__file__).with_name("statements.json").read_text("utf-8"))


def need(holds, why):
    if not holds:
        raise ValueError(why)


def members(pairs):
    need(len(dict(pairs)) == len(pairs) and all(name.isascii() for name, _ in pairs), "a duplicate or non-ASCII member name")
    return dict(pairs)


def integer(text):
    need(text != "-0" and len(text) < 18 and abs(int(text)) < 2**53, f"{text} is out of range")
    return int(text)


def other_number(text):
    raise ValueError(f"{text} is not an integer")


def read(raw):
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=members, parse_int=integer,
                           parse_float=other_number, parse_constant=other_number)
        need(depth(value) <= 64, "nested too deep")
        return value
    except RecursionError:
        raise ValueError("nested too deep") from None


def inside(value):
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def depth(value):
    return isinstance(value, (dict, list)) + max(map(depth, inside(value)), default=0)


def plain(value):
    if isinstance(value, str):
        need(not re.search("[\x00-\x1f\u2028\u2029\ud800-\udfff]", value), "a character that is not allowed")
    for inner in [*(value if isinstance(value, dict) else ()), *inside(value)]:
        plain(inner)


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def fits(value, shape, path):
    if isinstance(shape, dict):
        need(isinstance(value, dict), f"{path} is not an object")
        shape = {name: shape["*"] for name in value} if "*" in shape else shape
        shape = {name: inner for name, inner in shape.items() if not name.endswith("~") or name[:-1] in value}
        need(set(value) == {name.rstrip("?~") for name in shape}, f"{path} lacks a member or has one too many")
        for name, inner in shape.items():
            member = value[name.rstrip("?~")]
            if member is not None or not name.endswith("?"):
                fits(member, inner, f"{path}.{name.rstrip('?~')}")
    elif isinstance(shape, list):
        need(isinstance(value, list), f"{path} is not a list")
        for inner in value:
            fits(inner, shape[0], f"{path}[]")
    elif shape in ("int", "bool"):
        need(type(value).__name__ == shape and value >= 0, f"{path} is not of type {shape}")
    elif shape == "null":
        need(value is None, f"{path} is not null")
    elif shape != "any":
        pattern = FORMAT["patterns"].get(shape, shape)
        need(isinstance(value, str) and re.fullmatch(pattern, value), f"{path} does not match {shape}")
        if shape == "time":
            datetime.fromisoformat(value)  # 30 February is not a time
