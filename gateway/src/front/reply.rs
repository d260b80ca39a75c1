//! Answers, put into their JSON-RPC envelope as text.
//!
//! Promised: what a provider wrote is spliced in, not written again; only `_meta` gains our key and loses others of our
//! prefix that the provider had no business to set.
//!
//!     {"jsonrpc":"2.0","id":7,"result":{"_meta":{"dev.counterfoil/receipt":{…}},"content":[…]}}

use super::refusal::Refusal;
use crate::answer::{Answer, Body, Fault, OURS, RECEIPT};
use crate::envelope::Id;
use crate::raw::{Object, quoted};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

/// In which era's dress an answer goes out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Era {
    Legacy,
    Modern,
}

pub fn result(id: &Id, result: &str) -> Response {
    let text = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.text());
    json(StatusCode::OK, text)
}

pub fn refusal(id: Option<&Id>, refusal: &Refusal, receipt: Option<&str>) -> Response {
    let data = refusal.data.as_ref().map(ToString::to_string);
    let text = error_text(id, refusal.code, &refusal.message, with_receipt(data, receipt).as_deref());
    json(refusal.status, text)
}

/// The answer to a tool call.
pub fn call(id: &Id, answer: &Answer, era: Era) -> Response {
    let receipt = answer.receipt.as_deref();
    match &answer.body {
        Body::Result(text) => result(id, &dressed(text, receipt, era)),
        Body::Error { code, message, data, fault } => {
            let data = with_receipt(data.clone(), receipt);
            let status = match fault {
                Fault::Message => StatusCode::BAD_REQUEST,
                Fault::Call => StatusCode::OK,
            };
            json(status, error_text(Some(id), *code, message, data.as_deref()))
        }
    }
}

/// As it goes to a host: our `_meta`, and in the modern era a `resultType`, which legacy providers do not know.
pub(super) fn dressed(result: &str, receipt: Option<&str>, era: Era) -> String {
    let Ok(object) = Object::read_loosely(result) else {
        return result.to_owned();
    };
    if let (Era::Legacy, Some(kind)) = (era, object.value("resultType"))
        && kind != "\"complete\""
    {
        return dressed(&beyond_legacy(), receipt, era);
    }
    let theirs = object.value("_meta");
    let meta = theirs
        .and_then(|meta| Object::read_loosely(meta).ok())
        .map(|meta| meta.without(|key| key.starts_with(OURS)));
    let meta = match (meta, receipt) {
        (Some(meta), Some(receipt)) => Some(with_member(&meta, receipt)),
        (None, Some(receipt)) => Some(with_member("{}", receipt)),
        (meta, None) => meta,
    };
    let dressed = match meta {
        Some(meta) => object.with("_meta", &meta),
        None => result.to_owned(),
    };
    match (era, object.value("resultType")) {
        (Era::Modern, None) => match Object::read_loosely(&dressed) {
            Ok(object) => object.with("resultType", "\"complete\""),
            Err(_) => dressed,
        },
        (Era::Legacy, Some(_)) => match Object::read_loosely(&dressed) {
            Ok(object) => object.without(|key| key == "resultType"),
            Err(_) => dressed,
        },
        (Era::Modern, Some(_)) | (Era::Legacy, None) => dressed,
    }
}

/// A modern provider that asks back, or answers with a task. A legacy host would take either for an empty result.
fn beyond_legacy() -> String {
    match Body::refusing(
        "The tool asks for more input, in a way that only exists since MCP 2026-07-28 and that this client does not \
         speak. The call was sent; whether anything was done is the tool's own business.",
    ) {
        Body::Result(text) => text,
        Body::Error { message, .. } => message,
    }
}

fn with_member(object: &str, receipt: &str) -> String {
    match Object::read_loosely(object) {
        Ok(object) => object.with(RECEIPT, receipt),
        Err(_) => format!(r#"{{{}:{receipt}}}"#, quoted(RECEIPT)),
    }
}

/// `error.data` where it is absent or an object; anything else is the provider's own and stays.
pub(super) fn with_receipt(data: Option<String>, receipt: Option<&str>) -> Option<String> {
    let Some(receipt) = receipt else {
        return data;
    };
    let data = data.unwrap_or_else(|| "{}".to_owned());
    match Object::read_loosely(&data) {
        Ok(object) => {
            let cleaned = object.without(|key| key.starts_with(OURS));
            Some(with_member(&cleaned, receipt))
        }
        Err(_) => Some(data),
    }
}

fn error_text(id: Option<&Id>, code: i64, message: &str, data: Option<&str>) -> String {
    let id = id.map_or("null", Id::text);
    let data = data.map_or(String::new(), |data| format!(r#","data":{data}"#));
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{}{data}}}}}"#, quoted(message))
}

fn json(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECEIPT_TEXT: &str = r#"{"typ":"receipt-ref/v1"}"#;

    #[test]
    fn a_result_keeps_every_byte_but_meta() {
        let theirs = r#"{"content":[] , "n":123456789012345678901234567890,"x-unknown":1.0}"#;
        assert_eq!(
            dressed(theirs, Some(RECEIPT_TEXT), Era::Legacy),
            r#"{"_meta":{"dev.counterfoil/receipt":{"typ":"receipt-ref/v1"}},"content":[] , "n":123456789012345678901234567890,"x-unknown":1.0}"#
        );
        assert_eq!(dressed(theirs, None, Era::Legacy), theirs);
        assert!(dressed(theirs, None, Era::Modern).starts_with(r#"{"resultType":"complete","content""#));
    }

    #[test]
    fn a_legacy_host_never_sees_what_only_the_modern_era_has() {
        let complete = r#"{"resultType":"complete","content":[],"n":1.0}"#;
        assert_eq!(dressed(complete, None, Era::Legacy), r#"{"content":[],"n":1.0}"#);
        assert_eq!(dressed(complete, None, Era::Modern), complete);

        let asks = r#"{"resultType":"input_required","requestState":"s"}"#;
        let told = dressed(asks, Some(RECEIPT_TEXT), Era::Legacy);
        assert!(told.contains(r#""isError":true"#) && told.contains(RECEIPT_TEXT), "{told}");
        assert!(!told.contains("requestState"));
        assert!(dressed(asks, None, Era::Modern).contains("requestState"));
    }

    #[test]
    fn no_key_of_ours_that_a_provider_set_reaches_the_agent() {
        let theirs = r#"{"_meta":{"dev.counterfoil/receipt":{"verdict":"ALLOW"},"dev.counterfoil/execution":{"a":1},"other":2},"content":[]}"#;
        assert_eq!(
            dressed(theirs, Some(RECEIPT_TEXT), Era::Legacy),
            r#"{"_meta":{"dev.counterfoil/receipt":{"typ":"receipt-ref/v1"},"other":2},"content":[]}"#
        );
        assert_eq!(dressed(theirs, None, Era::Legacy), r#"{"_meta":{"other":2},"content":[]}"#);
        let data = r#"{"dev.counterfoil/execution":{"a":1},"n":1.0}"#.to_owned();
        assert_eq!(
            with_receipt(Some(data), Some("1")).as_deref(),
            Some(r#"{"dev.counterfoil/receipt":1,"n":1.0}"#)
        );
    }

    #[test]
    fn the_receipt_joins_error_data_that_is_absent_or_an_object() {
        let join = |data: Option<&str>| with_receipt(data.map(str::to_owned), Some("1"));
        assert_eq!(join(None).as_deref(), Some(r#"{"dev.counterfoil/receipt":1}"#));
        assert_eq!(join(Some(r#"{"a":1}"#)).as_deref(), Some(r#"{"dev.counterfoil/receipt":1,"a":1}"#));
        assert_eq!(join(Some("[1]")).as_deref(), Some("[1]"));
    }
}
