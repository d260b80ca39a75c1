//! Possession: a new key signs its own name and the project that it is introduced to, so that
//! nobody can introduce a key that somebody else holds. The bytes are core's `possession_message`.

use counterfoil_core::id::ProjectId;
use counterfoil_core::key::{KeyPurpose, PublicKey, SigningKey, Thumbprint};
use counterfoil_core::statement::possession_message;

#[derive(Debug, thiserror::Error)]
#[error("whoever introduces key `{0}` did not prove that it holds it")]
pub struct PossessionError(Thumbprint);

/// The proof that stands in `key/v1`.
#[must_use]
pub fn prove<P: KeyPurpose>(new: &SigningKey<P>, project: ProjectId) -> [u8; 64] {
    new.sign(&possession_message(project, new.kid()))
}

pub fn verify(key: &PublicKey, project: ProjectId, proof: &[u8; 64]) -> Result<(), PossessionError> {
    let thumbprint = key.thumbprint();
    key.verify(&possession_message(project, &thumbprint), proof).map_err(|_| PossessionError(thumbprint))
}

#[cfg(test)]
mod tests {
    use counterfoil_core::key::Decision;

    use super::*;

    fn project(last: char) -> ProjectId {
        format!("prj_019355a0c1007000800000000000000{last}").parse().unwrap()
    }

    /// C3
    #[test]
    fn a_key_proves_itself_to_one_project_alone() {
        let key = SigningKey::<Decision>::from_seed(&[3; 32]);
        let other = SigningKey::<Decision>::from_seed(&[4; 32]);
        let proof = prove(&key, project('1'));
        let mut changed = proof;
        changed[0] ^= 1;

        assert!(verify(key.public(), project('1'), &proof).is_ok());
        assert!(verify(key.public(), project('2'), &proof).is_err());
        assert!(verify(other.public(), project('1'), &proof).is_err());
        assert!(verify(key.public(), project('1'), &changed).is_err());
    }
}
