//! Our signing keys: hold, publish, rotate; and what providers want to see of us, sealed the same way. And what only a
//! project's own disclosure key opens.
//!
//! Promised: private keys rest sealed in one file per service, never in a database; one key serves
//! one purpose; a rotation mints a new key id and the old public half stays published for ever; a
//! file that others may read, a wrong key-encryption key, a changed file and (outside `dev`) a
//! published sample key are refused.
//!
//! Not promised: protection from whoever can read this process's memory, or both the sealed file
//! and the key-encryption key.

mod at_rest;
mod chance;
pub mod credentials;
pub mod file;
pub mod kek;
mod mode;
pub mod opening;
pub mod possession;
mod published;
mod sample;
mod seal;
pub mod secret;
mod store;

pub use at_rest::{AtRest, Unopened};
pub use chance::NoChance;
pub use credentials::{Credential, CredentialError, Credentials};
pub use kek::{Kek, KekError, KekSource};
pub use mode::{Holder, Mode};
pub use possession::PossessionError;
pub use published::{PublishedKey, document};
pub use secret::Secret;
pub use store::{Store, StoreError};
