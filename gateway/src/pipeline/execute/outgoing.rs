//! What goes out to a provider: the parameters as they came, and `_meta` with our own keys instead of the caller's.

use crate::answer::{ACCEPTED, CAPABILITY, OURS, RECEIPT};
use crate::call::Asked;
use crate::house::House;
use crate::pipeline::mint::mint;
use crate::pipeline::{Recorded, Subject};
use crate::raw::{Object, quoted};
use serde_json::json;

/// Keys of the modern era describe the hop from the host to us; progress would name a token that only that hop knows,
/// and we hand no progress on.
const OF_THE_HOP: &str = "io.modelcontextprotocol/";
const PROGRESS: &str = "progressToken";

/// None when the provider demands a capability and none can be minted. `accepted` are receipts of what the provider stated
/// in earlier results.
pub fn params(recorded: &Recorded, house: &House, accepted: &[String]) -> Option<String> {
    let Asked::Tool { name, params } = &recorded.judged.call.received.asked else {
        return None;
    };
    let mut ours = ours(recorded, house)?;
    if !accepted.is_empty() {
        ours.push((ACCEPTED, format!("[{}]", accepted.join(","))));
    }
    let text = as_hashed(Object::read(params.text()).ok()?);
    let text = match params.value().get("name") == Some(&json!(name)) {
        true => text,
        // The caller named the provider too.
        false => Object::read(&text).ok()?.with("name", &quoted(name)),
    };
    let params = Object::read(&text).ok()?;
    let theirs = params.value("_meta").unwrap_or("{}");
    let theirs = Object::read(theirs).ok()?.without(is_dropped);
    let mut meta = theirs;
    for (key, value) in ours {
        meta = Object::read(&meta).ok()?.with(key, &value);
    }
    let is_empty = Object::read(&meta).ok()?.is_empty();
    match (is_empty, params.value("_meta")) {
        (true, Some(_)) => Some(params.without(|key| key == "_meta")),
        (true, None) => Some(params.without(|_| false)),
        (false, _) => Some(params.with("_meta", &meta)),
    }
}

/// `"arguments": null` is judged, committed and hashed as `{}`, so `{}` is what goes out. Absent ones stay absent: every
/// reader takes them for `{}`, as the capability's format says.
fn as_hashed(params: Object<'_>) -> String {
    match params.value("arguments") {
        Some("null") => params.with("arguments", "{}"),
        Some(_) | None => params.without(|_| false),
    }
}

fn is_dropped(key: &str) -> bool {
    key.starts_with(OURS) || key.starts_with(OF_THE_HOP) || key == PROGRESS
}

type Member = (&'static str, String);

fn ours(recorded: &Recorded, house: &House) -> Option<Vec<Member>> {
    let call = &recorded.judged.call;
    let id = &call.received.provider.as_ref()?.id;
    let mut members = Vec::new();
    let decision = recorded.judged.decided.signed.payload();
    if decision.capability.is_some() {
        members.push((CAPABILITY, quoted(&slip(recorded, house)?)));
    }
    let entry = call.control.bundle.registry().provider(id.as_str());
    if entry.is_some_and(|entry| entry.receipt()) {
        let receipt = recorded.acknowledged.receipt.bytes();
        members.push((RECEIPT, String::from_utf8(receipt).ok()?));
    }
    Some(members)
}

fn slip(recorded: &Recorded, house: &House) -> Option<String> {
    let call = &recorded.judged.call;
    let (Subject::Tool { arguments, .. }, Asked::Tool { params, .. }) = (&call.subject, &call.received.asked)
    else {
        return None;
    };
    mint(recorded, house, (arguments, params.value().get("inputResponses")))
}
