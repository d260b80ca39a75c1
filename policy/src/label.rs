//! Names that the registry and shapes may use, beside the labels of core.

/// `[a-z][a-z0-9_]{0,31}`
pub(crate) fn is_field(text: &str) -> bool {
    (1..=32).contains(&text.len())
        && text.as_bytes()[0].is_ascii_lowercase()
        && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

/// The name of an argument that may stand in a public shape. An at sign is not in it, so it is no address.
pub(crate) fn is_argument(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'$'))
}

/// A resource identifier: a scheme, a colon, printable ASCII.
pub(crate) fn is_resource(text: &str) -> bool {
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    is_field(scheme)
        && text.len() <= 256
        && text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\'))
}

/// A JSON pointer (RFC 6901) below the root.
pub(crate) fn is_pointer(text: &str) -> bool {
    let well_escaped = text.split('~').skip(1).all(|part| part.starts_with(['0', '1']));
    text.starts_with('/') && text.len() <= 256 && well_escaped
}
