//! Sessions of the legacy era: sealed, self-describing ids.
//!
//! Promised: every replica that holds the sealing key can read every session id; nobody else can make or read one; an
//! id is good only for the key and provider it was made for.
//! Not promised: an authorization. The API key is asked for with every message, so a stolen id opens nothing. An ended
//! session is refused by the replica that ended it and by none else, until that replica stops.
//!
//!     base64url(nonce ‖ AES-256-GCM(key, {"v":1,"key":"key_…","provider":"notes","origin":"mcp","revision":"2025-11-25"}))

use crate::chance;
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use counterfoil_core::digest::Digest;
use counterfoil_core::id::{KeyId, ProviderId};
use counterfoil_core::nonce::{base64url, unbase64url};
use counterfoil_core::statement::Origin;
use counterfoil_jwks::Secret;
use serde::{Deserialize, Serialize};
use std::collections::{HashSet, VecDeque};
use std::sync::Mutex;

/// Ended sessions that are remembered, oldest forgotten first: about 100 bytes each.
const ENDED: usize = 65_536;
/// Bound to the ciphertext, so that nothing else sealed with this key reads as a session.
const CONTEXT: &[u8] = b"counterfoil/session/v1";

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    pub v: u8,
    pub key: KeyId,
    /// None for the address of all providers.
    pub provider: Option<ProviderId>,
    pub origin: Origin,
    pub revision: String,
    /// Whether the host can show its user an address (`elicitation.url` of 2025-11-25).
    #[serde(default)]
    pub shows_pages: bool,
}

pub struct Sessions {
    key: LessSafeKey,
    ended: Mutex<Ended>,
}

#[derive(Default)]
struct Ended {
    known: HashSet<Digest>,
    by_age: VecDeque<Digest>,
}

/// Not a session of ours, or no longer one.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("session is not known")]
pub struct UnknownSession;

impl Sessions {
    pub fn sealed_with(secret: &Secret) -> Self {
        Self::with_key(secret.dangerous_bytes())
    }

    fn with_key(bytes: &[u8; 32]) -> Self {
        let key = UnboundKey::new(&AES_256_GCM, bytes).expect("AES-256 keys are 32 bytes");
        Self { key: LessSafeKey::new(key), ended: Mutex::default() }
    }

    pub fn open(&self, session: &Session) -> String {
        // Random 96-bit nonces: fine for 2^32 sessions of one key (NIST SP 800-38D, section 8.3).
        let nonce: [u8; NONCE_LEN] = chance::bytes();
        let mut sealed = serde_json::to_vec(session).expect("a session has string keys and plain values");
        self.key
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(CONTEXT), &mut sealed)
            .expect("a short text can be sealed");
        let mut id = nonce.to_vec();
        id.append(&mut sealed);
        base64url(&id)
    }

    /// The session behind an id, if it is one of this key with this provider and has not ended.
    pub fn find(
        &self,
        id: &str,
        (key, provider, origin): (KeyId, Option<&ProviderId>, Origin),
    ) -> Result<Session, UnknownSession> {
        let session = self.unseal(id).ok_or(UnknownSession)?;
        let ours = session.v == 1
            && session.key == key
            && session.provider.as_ref() == provider
            && session.origin == origin;
        if ours && !self.lock().known.contains(&Digest::of(id.as_bytes())) {
            Ok(session)
        } else {
            Err(UnknownSession)
        }
    }

    pub fn end(&self, id: &str) {
        let mut ended = self.lock();
        if ended.by_age.len() == ENDED
            && let Some(oldest) = ended.by_age.pop_front()
        {
            ended.known.remove(&oldest);
        }
        let digest = Digest::of(id.as_bytes());
        if ended.known.insert(digest) {
            ended.by_age.push_back(digest);
        }
    }

    fn unseal(&self, id: &str) -> Option<Session> {
        let mut bytes = unbase64url(id)?;
        let (nonce, sealed) = bytes.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let text = self.key.open_in_place(nonce, Aad::from(CONTEXT), sealed).ok()?;
        serde_json::from_slice(text).ok()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Ended> {
        self.ended.lock().expect("no holder panics")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Session {
        Session {
            v: 1,
            key: "key_019355a0c0007000800000000000c001".parse().expect("an id"),
            provider: Some("notes".parse().expect("a provider")),
            origin: Origin::Mcp,
            revision: "2025-11-25".into(),
            shows_pages: false,
        }
    }

    fn find(sessions: &Sessions, id: &str, session: &Session) -> Result<Session, UnknownSession> {
        sessions.find(id, (session.key, session.provider.as_ref(), session.origin))
    }

    #[test]
    fn a_replica_with_the_same_key_knows_the_session() {
        let (one, other) = (Sessions::with_key(&[7; 32]), Sessions::with_key(&[7; 32]));
        let id = one.open(&session());
        assert!(!id.contains("notes"));

        assert_eq!(find(&other, &id, &session()), Ok(session()));

        let stranger = Sessions::with_key(&[8; 32]);
        assert_eq!(find(&stranger, &id, &session()), Err(UnknownSession));
    }

    #[test]
    fn a_session_of_another_key_provider_or_listener_is_unknown() {
        let sessions = Sessions::with_key(&[7; 32]);
        let id = sessions.open(&session());
        let other_key =
            Session { key: "key_019355a0c0007000800000000000c002".parse().expect("an id"), ..session() };
        let other_provider = Session { provider: Some("mail".parse().expect("a provider")), ..session() };
        let of_all = Session { provider: None, ..session() };
        let other_origin = Session { origin: Origin::Stdio, ..session() };

        for other in [other_key, other_provider, of_all, other_origin] {
            assert_eq!(find(&sessions, &id, &other), Err(UnknownSession));
        }
        for text in ["", "AAAA", "not base64!", &id[1..]] {
            assert_eq!(find(&sessions, text, &session()), Err(UnknownSession));
        }
    }

    #[test]
    fn an_ended_session_is_unknown() {
        let sessions = Sessions::with_key(&[7; 32]);
        let id = sessions.open(&session());
        assert_eq!(find(&sessions, &id, &session()), Ok(session()));

        sessions.end(&id);

        assert_eq!(find(&sessions, &id, &session()), Err(UnknownSession));
    }
}
