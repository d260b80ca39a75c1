//! The table of attacks: what a call looks like that a provider must refuse.
//!
//! Promised: for each [`ProbeCase`] one call whose capability no guard that checks what docs/formats/capability.md says lets
//! pass. None of them names a decision that exists, and each that is signed by the key a provider pins is out of its life,
//! or for nobody, or for another call. `Replayed` is not made here: it is a capability that was used.
//! Not promised: that a provider which checks less does not run the tool. That is what is asked, so only a tool that may run
//! at any time with any arguments is called.

mod told;

pub use told::ToldProbe;

use crate::capability::{CAPABILITY_TYPE, call_hash};
use crate::commitment::hmac_sha256;
use crate::digest::Digest;
use crate::json::canonical;
use crate::key::{Capability, SigningKey};
use crate::nonce::{Nonce16, base64url};
use crate::statement::{Environment, ProbeCase, ProbeOutcome};
use serde_json::{Value, json};

/// Where a call's capability stands in `_meta`.
pub const CAPABILITY_MEMBER: &str = "dev.counterfoil/capability";
/// The code of the error that a guard answers with.
pub const REFUSED: i64 = 4030;
/// And how the reason in its `data.reason` begins.
const REASON: &str = "capability_";

/// Whom and what a probe calls.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The issuer that the provider pins.
    pub issuer: &'a str,
    pub audience: &'a str,
    pub env: Environment,
    /// The kill generation now.
    pub generation: u64,
    pub tool: &'a str,
    pub arguments: &'a Value,
}

/// Who signs, and when.
pub struct Forge<'a> {
    /// A key that the provider pins. Without one only what a stranger can make is made.
    pub known: Option<&'a SigningKey<Capability>>,
    /// A key that nobody pins.
    pub stranger: &'a SigningKey<Capability>,
    /// Seconds since 1970.
    pub now: i64,
    /// Fresh at each call.
    pub nonce: &'a mut dyn FnMut() -> Nonce16,
}

/// One call that must be refused.
#[derive(Clone, Debug)]
pub struct Attack {
    pub case: ProbeCase,
    /// `params` of its `tools/call`.
    pub params: Value,
}

/// What a gateway tries: it signs with the key that providers pin, so it leaves out a slip for another environment, which a
/// provider of that environment would rightly take.
pub const OF_A_GATEWAY: &[ProbeCase] = &[
    ProbeCase::Missing,
    ProbeCase::Receipt,
    ProbeCase::Oversized,
    ProbeCase::AlgNone,
    ProbeCase::Hmac,
    ProbeCase::OtherType,
    ProbeCase::CriticalHeader,
    ProbeCase::UnknownKey,
    ProbeCase::ForgedKey,
    ProbeCase::OtherIssuer,
    ProbeCase::OtherAudience,
    ProbeCase::Expired,
    ProbeCase::NotYet,
    ProbeCase::TooLong,
    ProbeCase::OtherTool,
    ProbeCase::ChangedArgument,
];

impl Target<'_> {
    /// `params` of an honest call with this in the place of its capability.
    pub fn params(&self, capability: &Value) -> Value {
        json!({ "name": self.tool, "arguments": self.arguments, "_meta": { CAPABILITY_MEMBER: capability } })
    }

    /// A capability that passes, once. Only for an issuer whose keys were made for a check of one provider.
    pub fn honest(&self, forge: &mut Forge<'_>) -> Option<String> {
        let claims = self.claims(forge);
        Some(signed(&header(forge.known?), &claims, forge.known?))
    }

    /// The call of a case. None for a case that needs a key of the provider's issuer where there is none, and for `Replayed`.
    pub fn attack(&self, case: ProbeCase, forge: &mut Forge<'_>) -> Option<Attack> {
        let params = match case {
            ProbeCase::Missing => json!({ "name": self.tool, "arguments": self.arguments }),
            ProbeCase::Receipt => {
                self.params(&json!({ "typ": "receipt/v1", "statement": null, "entry": null, "proof": "" }))
            }
            ProbeCase::Oversized => self.params(&json!("a".repeat(5000))),
            ProbeCase::UnknownKey => {
                let claims = self.claims(forge);
                self.params(&json!(signed(&header(forge.stranger), &claims, forge.stranger)))
            }
            ProbeCase::AlgNone => {
                let head = json!({ "alg": "none", "kid": forge.known.unwrap_or(forge.stranger).kid(), "typ": CAPABILITY_TYPE });
                self.params(&json!(format!("{}.", unsigned(&head, &self.claims(forge)))))
            }
            ProbeCase::Replayed => return None,
            ProbeCase::Hmac | ProbeCase::OtherType | ProbeCase::CriticalHeader | ProbeCase::ForgedKey => {
                self.params(&json!(self.headed(case, forge, forge.known?)))
            }
            ProbeCase::OtherIssuer
            | ProbeCase::OtherAudience
            | ProbeCase::OtherEnvironment
            | ProbeCase::Expired
            | ProbeCase::NotYet
            | ProbeCase::TooLong
            | ProbeCase::OtherTool
            | ProbeCase::ChangedArgument => {
                let key = forge.known?;
                self.params(&json!(signed(&header(key), &self.changed(case, forge), key)))
            }
        };
        Some(Attack { case, params })
    }

    /// Good claims under a header or a signature that is not.
    fn headed(&self, case: ProbeCase, forge: &mut Forge<'_>, key: &SigningKey<Capability>) -> String {
        let claims = self.claims(forge);
        let mut head = header(key);
        match case {
            ProbeCase::Hmac => {
                head["alg"] = json!("HS256");
                let text = unsigned(&head, &claims);
                let tag = hmac_sha256(&key.public().bytes(), text.as_bytes());
                return format!("{text}.{}", base64url(&tag));
            }
            ProbeCase::ForgedKey => return signed(&head, &claims, forge.stranger),
            ProbeCase::OtherType => head["typ"] = json!("at+jwt"),
            _ => head["crit"] = json!(["counterfoil-probe"]),
        }
        signed(&head, &claims, key)
    }

    /// The claims of a slip for something else.
    fn changed(&self, case: ProbeCase, forge: &mut Forge<'_>) -> Value {
        let now = forge.now;
        let mut claims = self.claims(forge);
        match case {
            ProbeCase::OtherIssuer => claims["iss"] = json!("https://probe.invalid/p/0-zzzzzzzz"),
            ProbeCase::OtherAudience => claims["aud"] = json!("urn:counterfoil:probe:nobody"),
            ProbeCase::OtherEnvironment => {
                claims["env"] =
                    json!(if self.env == Environment::Live { Environment::Test } else { Environment::Live });
            }
            ProbeCase::Expired => life(&mut claims, now - 600, now - 605, now - 570),
            // Never valid: it ends before it begins.
            ProbeCase::NotYet => life(&mut claims, now, now + 600, now + 30),
            ProbeCase::TooLong => life(&mut claims, now, now - 5, now + 3600),
            ProbeCase::OtherTool => {
                claims["call"]["t"] = json!("counterfoil_probe");
                claims["call"]["h"] =
                    json!(call_hash(self.audience, "tools/call", "counterfoil_probe", self.arguments, None));
            }
            // A hash of arguments that nobody can find.
            _ => claims["call"]["h"] = json!(base64url(Digest::of((forge.nonce)().bytes()).bytes())),
        }
        claims
    }

    fn claims(&self, forge: &mut Forge<'_>) -> Value {
        let iat = forge.now;
        json!({
            "iss": self.issuer, "aud": self.audience, "sub": "probe", "jti": (forge.nonce)(), "iat": iat, "nbf": iat - 5,
            "exp": iat + 30, "txn": format!("act_{}", "0".repeat(32)), "dec": Digest::of(b"counterfoil/probe/v1"),
            "env": self.env, "gen": self.generation, "os": (forge.nonce)(),
            "call": { "m": "tools/call", "t": self.tool, "h": call_hash(self.audience, "tools/call", self.tool, self.arguments, None) },
        })
    }
}

/// What a JSON-RPC error means.
pub fn of_error(error: &Value) -> ProbeOutcome {
    let reason = error.pointer("/data/reason").and_then(Value::as_str);
    let refused =
        error.get("code") == Some(&json!(REFUSED)) && reason.is_some_and(|reason| reason.starts_with(REASON));
    if refused { ProbeOutcome::Refused } else { ProbeOutcome::Unclear }
}

fn life(claims: &mut Value, iat: i64, nbf: i64, exp: i64) {
    (claims["iat"], claims["nbf"], claims["exp"]) = (json!(iat), json!(nbf), json!(exp));
}

fn header(key: &SigningKey<Capability>) -> Value {
    json!({ "alg": "EdDSA", "kid": key.kid(), "typ": CAPABILITY_TYPE })
}

fn unsigned(header: &Value, claims: &Value) -> String {
    format!("{}.{}", base64url(&canonical(header)), base64url(&canonical(claims)))
}

fn signed(header: &Value, claims: &Value, key: &SigningKey<Capability>) -> String {
    let text = unsigned(header, claims);
    let signature = key.sign(text.as_bytes());
    format!("{text}.{}", base64url(&signature))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::Claims;
    use crate::nonce::unbase64url;

    fn attacks(known: Option<&SigningKey<Capability>>) -> Vec<Attack> {
        let stranger = SigningKey::from_seed(&[0x77; 32]);
        let arguments = json!({ "path": "/notes" });
        let target = Target {
            issuer: "https://gw.example/p/7-k3m9q2v8",
            audience: "urn:counterfoil:7-k3m9q2v8:notes",
            env: Environment::Live,
            generation: 3,
            tool: "note_list",
            arguments: &arguments,
        };
        let mut count = 0;
        let mut nonce = || {
            count += 1;
            Nonce16::from_bytes([count; 16])
        };
        let mut forge = Forge { known, stranger: &stranger, now: 1_796_037_600, nonce: &mut nonce };
        ProbeCase::ALL.iter().filter_map(|case| target.attack(*case, &mut forge)).collect()
    }

    // C1: what is signed by a key that providers pin is no slip for a call that anybody could make with it.
    #[test]
    fn no_attack_of_a_gateway_is_a_slip_for_a_call_that_was_decided() {
        let key = SigningKey::from_seed(&[0x12; 32]);
        let made = attacks(Some(&key));
        assert_eq!(made.len(), ProbeCase::ALL.len() - 1, "each but the replay");
        for attack in made.iter().filter(|attack| OF_A_GATEWAY.contains(&attack.case)) {
            let Some(token) = attack.params["_meta"][CAPABILITY_MEMBER].as_str() else { continue };
            let parts: Vec<&str> = token.split('.').collect();
            let [head, body, signature] = parts.as_slice() else { continue };
            let signature: Option<[u8; 64]> = unbase64url(signature).and_then(|bytes| bytes.try_into().ok());
            let holds = signature
                .is_some_and(|s| key.public().verify(format!("{head}.{body}").as_bytes(), &s).is_ok());
            let head: Value = serde_json::from_slice(&unbase64url(head).unwrap()).unwrap();
            if !holds || head["typ"] != CAPABILITY_TYPE || head.get("crit").is_some() {
                continue;
            }
            let claims: Claims = serde_json::from_slice(&unbase64url(body).unwrap()).unwrap();
            let now = 1_796_037_600;
            let is_alive = claims.nbf <= now + 5 && now < claims.exp && claims.exp - claims.iat <= 60;
            let is_ours =
                claims.iss.to_string() == "https://gw.example/p/7-k3m9q2v8" && claims.aud.ends_with(":notes");
            let own = call_hash(&claims.aud, "tools/call", "note_list", &json!({ "path": "/notes" }), None);
            assert!(
                !(is_alive && is_ours && claims.call.t == "note_list" && claims.call.h == own),
                "{:?}",
                attack.case
            );
            assert_eq!(claims.dec, Digest::of(b"counterfoil/probe/v1"));
        }
    }

    #[test]
    fn a_stranger_tries_what_needs_no_key_of_the_issuer() {
        let cases: Vec<_> = attacks(None).iter().map(|attack| attack.case).collect();
        assert_eq!(
            cases,
            [
                ProbeCase::Missing,
                ProbeCase::Receipt,
                ProbeCase::Oversized,
                ProbeCase::AlgNone,
                ProbeCase::UnknownKey
            ]
        );
    }

    // P10: an error of the tool is no refusal.
    #[test]
    fn only_an_error_that_names_the_capability_is_a_refusal() {
        assert_eq!(
            of_error(&json!({ "code": 4030, "data": { "reason": "capability_time" } })),
            ProbeOutcome::Refused
        );
        for other in [
            json!({ "code": -32602, "message": "capability_missing" }),
            json!({ "code": 4030, "message": "no" }),
            json!({ "code": 4030, "data": { "reason": "busy" } }),
            json!({ "code": -32603, "data": { "reason": "capability_missing" } }),
            json!(null),
        ] {
            assert_eq!(of_error(&other), ProbeOutcome::Unclear, "{other}");
        }
    }
}
