//! The canonical text of a value that was read: RFC 8785 again, without a detour through a serializer.
//!
//! Verifying a record writes every body once or more, so this is most of its work beside signatures. A test holds it
//! to the other two implementations.

use serde_json::Value;

pub(super) fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend(b"null"),
        Value::Bool(true) => out.extend(b"true"),
        Value::Bool(false) => out.extend(b"false"),
        // Integers have one spelling; how a double is written is left to those who know.
        Value::Number(number) if number.is_f64() => out.extend(super::canonical(number)),
        Value::Number(number) => out.extend(number.to_string().bytes()),
        Value::String(text) => string(text, out),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
            sorted.sort_unstable_by(|(a, _), (b, _)| match a.is_ascii() && b.is_ascii() {
                true => a.cmp(b),
                false => a.encode_utf16().cmp(b.encode_utf16()),
            });
            out.push(b'{');
            for (index, (name, member)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                string(name, out);
                out.push(b':');
                write(member, out);
            }
            out.push(b'}');
        }
    }
}

pub(super) fn string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend(&text.as_bytes()[plain..at]);
        plain = at + 1;
        match byte {
            b'"' => out.extend(b"\\\""),
            b'\\' => out.extend(b"\\\\"),
            0x08 => out.extend(b"\\b"),
            b'\t' => out.extend(b"\\t"),
            b'\n' => out.extend(b"\\n"),
            0x0c => out.extend(b"\\f"),
            b'\r' => out.extend(b"\\r"),
            other => out.extend(format!("\\u{other:04x}").bytes()),
        }
    }
    out.extend(&text.as_bytes()[plain..]);
    out.push(b'"');
}
