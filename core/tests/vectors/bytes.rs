//! Canonical JSON, commitments, capabilities.

use crate::{Outcome, equal, read};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use counterfoil_core::capability::{Claims, call_hash};
use counterfoil_core::commitment::{Disclosure, OpeningSeed, document_value, hmac_sha256};
use counterfoil_core::json::{Profile, canonical, canonical_text, parse};
use counterfoil_core::key::{self, SigningKey};
use counterfoil_core::nonce::base64url;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CanonicalCase {
    #[serde(rename = "about")]
    _about: String,
    profile: String,
    text: Option<String>,
    base64: Option<String>,
    canonical: Option<String>,
    refused_at: Option<String>,
}

pub fn canonical_json(case: &[u8]) -> Outcome {
    let case: CanonicalCase = read(case)?;
    let text = match (case.text, case.base64) {
        (Some(text), None) => text.into_bytes(),
        (None, Some(text)) => STANDARD.decode(text).map_err(|e| e.to_string())?,
        _ => return Err("needs `text` or `base64`".into()),
    };
    let profile = match case.profile.as_str() {
        "strict" => Profile::Strict,
        "foreign" => Profile::Foreign,
        other => return Err(format!("no profile `{other}`")),
    };
    let parsed = parse(&text, profile);
    match (case.canonical, case.refused_at) {
        (Some(wanted), None) => {
            let value = parsed.map_err(|e| e.to_string())?;
            equal("canonical form", canonical_text(&value), wanted)
        }
        (None, Some(path)) => match parsed {
            Ok(value) => Err(format!("accepted as {value}")),
            Err(error) => equal("place", error.path().to_owned(), path),
        },
        _ => Err("needs `canonical` or `refused_at`".into()),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CommitmentCase {
    #[serde(rename = "about")]
    _about: String,
    seed: String,
    salted_from: String,
    name: String,
    salt: String,
    document: Option<Value>,
    value: Option<String>,
    disclosure: Option<String>,
    commitment: Option<String>,
}

pub fn commitment(case: &[u8]) -> Outcome {
    let case: CommitmentCase = read(case)?;
    let seed = OpeningSeed::from_bytes(unhex(&case.seed)?);
    let salt = match case.salted_from.as_str() {
        "action" => seed.salt(&case.name),
        "provider" => seed.provider().salt(&case.name),
        other => return Err(format!("no seed `{other}`")),
    };
    equal("salt", salt.to_string(), case.salt)?;
    let Some(value) = case.value else {
        return Ok(());
    };
    if let Some(document) = case.document {
        equal("value of the document", document_value(&document), value.clone())?;
    }
    let made = match case.salted_from.as_str() {
        "action" => seed.commit(&case.name, &value),
        _ => seed.provider().commit(&case.name, &value),
    };
    let disclosure = case.disclosure.ok_or("needs `disclosure`")?;
    equal("disclosure", made.to_string(), disclosure.clone())?;
    let read_back = Disclosure::parse(&disclosure).map_err(|e| e.to_string())?;
    equal("disclosure read back", &read_back, &made)?;
    equal("commitment", made.commitment().to_string(), case.commitment.ok_or("needs `commitment`")?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallDocument {
    v: u8,
    aud: String,
    m: String,
    t: String,
    a: Value,
    i: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CapabilityCase {
    #[serde(rename = "about")]
    _about: String,
    sub_key: Option<String>,
    aud: Option<String>,
    #[serde(default)]
    principal: Value,
    sub: Option<String>,
    header: Option<Value>,
    claims: Option<Value>,
    call_document: Option<CallDocument>,
    h: Option<String>,
    token: Option<String>,
}

pub fn capability(case: &[u8]) -> Outcome {
    let case: CapabilityCase = read(case)?;
    let claims = case.claims.as_ref().map(|c| serde_json::from_value::<Claims>(c.clone()));
    let claims = claims.transpose().map_err(|e| e.to_string())?;
    if let Some(call) = &case.call_document {
        equal("version", call.v, 1)?;
        let hash = call_hash(&call.aud, &call.m, &call.t, &call.a, call.i.as_ref());
        let wanted = claims.as_ref().map(|c| c.call.h.clone()).or(case.h);
        equal("call.h", hash, wanted.ok_or("needs `claims` or `h`")?)?;
    }
    if let Some(key) = &case.sub_key {
        let aud = claims.as_ref().map(|c| c.aud.clone()).or(case.aud);
        let named = canonical(&json!([aud.ok_or("needs `aud`")?, case.principal]));
        let sub = base64url(&hmac_sha256(&unhex::<32>(key)?, &named));
        let wanted = claims.as_ref().map(|c| c.sub.clone()).or(case.sub);
        equal("sub", sub, wanted.ok_or("needs `sub`")?)?;
    }
    if let Some(token) = case.token {
        let key = SigningKey::<key::Capability>::from_seed(&[0x12; 32]);
        let header = case.header.ok_or("needs `header`")?;
        let claims = claims.ok_or("needs `claims`")?;
        let head = base64url(&canonical(&header));
        let signed = format!("{head}.{}", base64url(&canonical(&claims)));
        let signature = base64url(&key.sign(signed.as_bytes()));
        equal("token", format!("{signed}.{signature}"), token)?;
    }
    Ok(())
}

fn unhex<const N: usize>(digits: &str) -> Result<[u8; N], String> {
    let bytes: Result<Vec<u8>, _> =
        (0..digits.len() / 2).map(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16)).collect();
    let bytes = bytes.map_err(|e| e.to_string())?;
    bytes.try_into().map_err(|_| format!("not {N} bytes of hex"))
}
