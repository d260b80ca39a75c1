//! Signed notes (C2SP signed-note): a text, a blank line, signature lines.
//!
//!     gw.example/p/7-k3m9q2v8
//!     3
//!     wPxku6My/bH7wRJ4QrPbF5SeJXQkXTYExve3qmsCcV4=
//!
//!     — gw.example/p/7-k3m9q2v8 21XC343y…
//!
//! The 4-byte key id is SHA-256(name ‖ "\n" ‖ 0x01 ‖ public key)[..4]; type 0x01 is Ed25519 over the text.

use crate::key::{KeyPurpose, PublicKey, SigningKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// Signature type of an Ed25519 note.
const ED25519: u8 = 0x01;
/// Generous for a checkpoint with 16 signatures and more; larger notes are refused.
const MAX_NOTE: usize = 64 * 1024;

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NoteError {
    #[error("note is larger than {MAX_NOTE} bytes")]
    TooLarge,
    #[error("note has a control character")]
    ControlCharacter,
    #[error("note has no blank line before its signatures")]
    NoSignatures,
    #[error("signature line {0} of the note is malformed")]
    BadLine(usize),
    #[error("note's signature by `{0}` does not hold")]
    BadSignature(String),
    #[error("note is not signed by a key that was asked for")]
    NotByThisKey,
}

/// One signature line: who, which key, and the bytes after the key id.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Line {
    name: String,
    key_id: [u8; 4],
    signature: Vec<u8>,
}

/// A note that was split, not yet believed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Note {
    text: String,
    lines: Vec<Line>,
}

/// The key id of an Ed25519 note key.
pub fn key_id(name: &str, key: &PublicKey) -> [u8; 4] {
    let mut hasher = Sha256::new();
    hasher.update(name.as_bytes());
    hasher.update([b'\n', ED25519]);
    hasher.update(key.bytes());
    let digest: [u8; 32] = hasher.finalize().into();
    [digest[0], digest[1], digest[2], digest[3]]
}

/// The verifier key `<name>+<8 hex key id>+<base64(0x01 ‖ public key)>`.
pub fn vkey(name: &str, key: &PublicKey) -> String {
    let mut typed = vec![ED25519];
    typed.extend(key.bytes());
    format!("{name}+{}+{}", crate::digest::hex(&key_id(name, key)), STANDARD.encode(typed))
}

/// Signs a text that ends in a newline. The result is the whole note.
pub fn sign<P: KeyPurpose>(text: &str, name: &str, key: &SigningKey<P>) -> String {
    let mut line = key_id(name, key.public()).to_vec();
    line.extend(key.sign(text.as_bytes()));
    format!("{text}\n\u{2014} {name} {}\n", STANDARD.encode(line))
}

impl Note {
    pub fn parse(note: &str) -> Result<Self, NoteError> {
        if note.len() > MAX_NOTE {
            return Err(NoteError::TooLarge);
        }
        if note.chars().any(|c| c < ' ' && c != '\n') {
            return Err(NoteError::ControlCharacter);
        }
        let split = note.rfind("\n\n").ok_or(NoteError::NoSignatures)?;
        let (text, signatures) = (&note[..=split], &note[split + 2..]);
        let signatures = signatures.strip_suffix('\n').ok_or(NoteError::NoSignatures)?;
        let lines = signatures
            .split('\n')
            .enumerate()
            .map(|(index, line)| Line::parse(line).ok_or(NoteError::BadLine(index + 1)))
            .collect::<Result<_, _>>()?;
        Ok(Self { text: text.to_owned(), lines })
    }

    /// The signed text, newline included.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Succeeds if `key` signed under `name`. Lines of other keys are ignored, a failing line of this key is not.
    pub fn verify(&self, name: &str, key: &PublicKey) -> Result<(), NoteError> {
        let id = key_id(name, key);
        let mut signed = false;
        for line in &self.lines {
            if line.name != name || line.key_id != id {
                continue;
            }
            let bad = || NoteError::BadSignature(name.to_owned());
            let signature = line.signature.as_slice().try_into().map_err(|_| bad())?;
            key.verify(self.text.as_bytes(), signature).map_err(|_| bad())?;
            signed = true;
        }
        if signed { Ok(()) } else { Err(NoteError::NotByThisKey) }
    }
}

impl Line {
    fn parse(line: &str) -> Option<Self> {
        let (name, signature) = line.strip_prefix("\u{2014} ")?.split_once(' ')?;
        let named = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '+');
        let bytes = STANDARD.decode(signature).ok()?;
        let (key_id, signature) = bytes.split_first_chunk::<4>()?;
        (named && !signature.is_empty()).then(|| Self {
            name: name.to_owned(),
            key_id: *key_id,
            signature: signature.to_vec(),
        })
    }
}
