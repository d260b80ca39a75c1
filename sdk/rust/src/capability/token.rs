//! A token taken apart, and what it claims. Nothing in it is believed before its signature holds.
//!
//!     <base64url header>.<base64url claims>.<base64url signature>        EdDSA over the first two, with the dot

use super::refusal::{Refusal, RefusalCode};
use counterfoil_core::capability::Claims;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::json::{self, Profile};
use counterfoil_core::key::Thumbprint;
use counterfoil_core::nonce::{unbase64url, unbase64url_exact};
use counterfoil_core::statement::Environment;
use serde::Deserialize;
use serde_json::{Map, Value};

/// In bytes.
const LONGEST_TOKEN: usize = 4096;

pub(super) struct Parts<'t> {
    /// Header and payload as they were signed.
    pub(super) signed: &'t [u8],
    header: Map<String, Value>,
    payload: Vec<u8>,
    pub(super) signature: [u8; 64],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    alg: String,
    typ: String,
    kid: Thumbprint,
}

pub(super) fn split(token: &str) -> Result<Parts<'_>, Refusal> {
    if token.len() > LONGEST_TOKEN {
        return Err(RefusalCode::TooLong.into());
    }
    let (signed, signature) = token.rsplit_once('.').ok_or(RefusalCode::Malformed)?;
    let (header, payload) = signed.split_once('.').ok_or(RefusalCode::Malformed)?;
    // A dot is no base64url character, so a fourth part fails here.
    let decode = |part: &str| unbase64url(part).ok_or(RefusalCode::Malformed);
    Ok(Parts {
        signed: signed.as_bytes(),
        header: object(&decode(header)?)?,
        payload: decode(payload)?,
        signature: unbase64url_exact(signature).ok_or(RefusalCode::Malformed)?,
    })
}

impl Parts<'_> {
    /// `alg` and `typ` are ours to demand; any further member, `crit` and `jku` too, is refused.
    pub(super) fn kid(&self, typ: &str) -> Result<Thumbprint, Refusal> {
        let header: Header = serde_json::from_value(Value::Object(self.header.clone()))
            .map_err(|_| Refusal::from(RefusalCode::Header))?;
        if header.alg == "EdDSA" && header.typ == typ {
            Ok(header.kid)
        } else {
            Err(RefusalCode::Header.into())
        }
    }

    /// What a signed token claims. Whose and where is asked first: another issuer may well spell the rest otherwise.
    pub(super) fn claims(&self, issuer: &Issuer, env: Environment) -> Result<Claims, Refusal> {
        let members = self.members()?;
        let text = |name: &str| members.get(name).and_then(Value::as_str);
        if text("iss").is_some_and(|iss| iss != issuer.to_string()) {
            return Err(RefusalCode::Issuer.into());
        }
        if text("env").is_some_and(|named| named != env.to_string()) {
            return Err(RefusalCode::Environment.into());
        }
        // A claim that is null is neither there nor absent.
        if members.values().any(Value::is_null) {
            return Err(RefusalCode::Malformed.into());
        }
        serde_json::from_value(Value::Object(members)).map_err(|_| RefusalCode::Malformed.into())
    }

    pub(super) fn members(&self) -> Result<Map<String, Value>, Refusal> {
        object(&self.payload)
    }
}

fn object(bytes: &[u8]) -> Result<Map<String, Value>, Refusal> {
    match json::parse(bytes, Profile::Strict) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) | Err(_) => Err(RefusalCode::Malformed.into()),
    }
}
