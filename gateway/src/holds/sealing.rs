//! The gateways' own keys around holds. All replicas have them; the evidence service has none of them.
//!
//! Promised: each purpose has a key or a context of its own, so nothing sealed for one reads as another; what was
//! sealed for one project, hold and action opens for no other.
//!
//!     base64url(nonce ‖ AES-256-GCM(seal key, text, additional data = JCS [context, …]))
//!     call = base64url(HMAC-SHA-256(call key, JCS [project, agent, provider, tool, arguments, inputResponses]))

use crate::chance;
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use counterfoil_core::commitment::hmac_sha256;
use counterfoil_core::id::{AgentId, ProjectId, ProviderId};
use counterfoil_core::json::canonical;
use counterfoil_core::nonce::{base64url, unbase64url};
use counterfoil_jwks::Secret;
use serde_json::{Value, json};
use zeroize::Zeroizing;

pub struct Sealer {
    seal: LessSafeKey,
    call: Zeroizing<[u8; 32]>,
}

/// Whose call of what; `responses` is what the host's user answered in an earlier round.
pub struct Called<'a> {
    pub project: ProjectId,
    pub agent: AgentId,
    pub provider: &'a ProviderId,
    /// The provider's own name of it.
    pub tool: &'a str,
    pub arguments: &'a Value,
    pub responses: Option<&'a Value>,
}

impl Sealer {
    /// Derived, one key a purpose, from the secret that replicas share anyway.
    pub fn derived_from(secret: &Secret) -> Self {
        Self::from_bytes(secret.dangerous_bytes())
    }

    pub(super) fn from_bytes(secret: &[u8; 32]) -> Self {
        let derived = |purpose: &[u8]| Zeroizing::new(hmac_sha256(secret, purpose));
        let seal = derived(b"counterfoil/hold-seal/v1");
        let unbound = UnboundKey::new(&AES_256_GCM, &*seal).expect("AES-256 keys are 32 bytes");
        Self { seal: LessSafeKey::new(unbound), call: derived(b"counterfoil/hold-call/v1") }
    }

    pub fn seal(&self, context: &Value, mut text: Zeroizing<Vec<u8>>) -> String {
        // Random 96-bit nonces: fine for 2^32 texts of one key (NIST SP 800-38D, section 8.3).
        let nonce: [u8; NONCE_LEN] = chance::bytes();
        let aad = Aad::from(canonical(context));
        let tag = self
            .seal
            .seal_in_place_separate_tag(Nonce::assume_unique_for_key(nonce), aad, &mut text)
            .expect("AES-GCM seals anything shorter than 64 GiB");
        base64url(&[&nonce[..], text.as_slice(), tag.as_ref()].concat())
    }

    /// None for what we did not seal, or sealed for something else.
    pub fn open(&self, context: &Value, sealed: &str) -> Option<Zeroizing<Vec<u8>>> {
        let mut bytes = Zeroizing::new(unbase64url(sealed)?);
        let (nonce, sealed) = bytes.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let text = self.seal.open_in_place(nonce, Aad::from(canonical(context)), sealed).ok()?;
        Some(Zeroizing::new(text.to_vec()))
    }

    /// Which call this is: the same for every repetition of it by the same agent, and nothing to anybody else.
    pub fn call(&self, called: &Called<'_>) -> String {
        // Nobody answered anything: however a host says that.
        let responses = called.responses.filter(|value| value.as_object().is_none_or(|map| !map.is_empty()));
        let text =
            json!([called.project, called.agent, called.provider, called.tool, called.arguments, responses]);
        base64url(&hmac_sha256(&*self.call, &canonical(&text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> Zeroizing<Vec<u8>> {
        Zeroizing::new(b"secret".to_vec())
    }

    // G5
    #[test]
    fn what_was_sealed_for_one_hold_opens_for_no_other() {
        let (one, other) = (Sealer::from_bytes(&[7; 32]), Sealer::from_bytes(&[8; 32]));
        let sealed = one.seal(&json!(["hold", "a"]), text());

        let replica = Sealer::from_bytes(&[7; 32]);
        assert_eq!(replica.open(&json!(["hold", "a"]), &sealed).as_deref(), Some(&b"secret".to_vec()));

        assert!(one.open(&json!(["hold", "b"]), &sealed).is_none());
        assert!(other.open(&json!(["hold", "a"]), &sealed).is_none());
        for broken in ["", "AAAA", "not base64!", &sealed[1..]] {
            assert!(one.open(&json!(["hold", "a"]), broken).is_none(), "{broken}");
        }
    }

    // G5
    #[test]
    fn a_call_is_known_by_what_it_says_and_not_by_how_it_is_written() {
        let sealer = Sealer::from_bytes(&[7; 32]);
        let provider: ProviderId = "notes".parse().expect("a provider");
        let (arguments, changed) = (json!({"a": 1, "b": 2}), json!({"a": 1, "b": 3}));
        let called = |arguments: &Value, responses: Option<&Value>, tool: &str| {
            sealer.call(&Called {
                project: "prj_019355a0c0007000800000000000a001".parse().expect("an id"),
                agent: "agt_019355a0c0007000800000000000d001".parse().expect("an id"),
                provider: &provider,
                tool,
                arguments,
                responses,
            })
        };
        let call = called(&arguments, None, "write");

        assert_eq!(called(&json!({"b": 2.0, "a": 1}), Some(&json!({})), "write"), call);

        assert_ne!(called(&changed, None, "write"), call);
        assert_ne!(called(&arguments, Some(&json!({"q": {"action": "accept"}})), "write"), call);
        assert_ne!(called(&arguments, None, "read"), call);
    }
}
