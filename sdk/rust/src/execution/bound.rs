//! Results as commitments bind them: by the digest of their one text.

use counterfoil_core::digest::Digest;
use counterfoil_core::json::{self, MAX_BOUND, Profile, canonical_value};
use serde_json::Value;

// White space and escapes may make a text longer than what it says, hardly eight times as long.
const WORTH_READING: usize = 8 * MAX_BOUND;

/// What hops add is not the provider's result (docs/formats/canonical-json.md).
const ADDED: [&str; 2] = ["_meta", "resultType"];

/// `sha256:…` of a JSON-RPC result as it leaves on the wire. None for one that cannot be compared, because it has no single
/// reading or more than 1 MiB: a commitment to something else would look like a contradiction.
#[must_use]
pub fn bound_result(text: &[u8]) -> Option<String> {
    let value = json::parse_within(text, Profile::Foreign, WORTH_READING).ok()?;
    bound_value(&value)
}

/// As [`bound_result`], of a value that the strict parser read.
pub(crate) fn bound_value(result: &Value) -> Option<String> {
    let bytes = match result {
        Value::Object(members) if ADDED.iter().any(|name| members.contains_key(*name)) => {
            let mut bound = members.clone();
            bound.retain(|name, _| !ADDED.contains(&name.as_str()));
            canonical_value(&Value::Object(bound))
        }
        other => canonical_value(other),
    };
    (bytes.len() <= MAX_BOUND).then(|| Digest::of(&bytes).to_string())
}
