"""Reads pages as a parser does that forgives nothing: {"pages": ["<!DOCTYPE html>…"]} in, {"errors": [null]} out."""
import json
import sys

import html5lib


def error(page: str) -> str | None:
    try:
        html5lib.HTMLParser(strict=True).parse(page)
    except html5lib.html5parser.ParseError as problem:
        return str(problem) or "it does not parse"
    return None


print(json.dumps({"errors": [error(page) for page in json.load(sys.stdin)["pages"]]}))
