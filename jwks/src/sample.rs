//! Sample keys: the test vectors publish private keys whose seed is one byte repeated 32 times.

/// Whether anybody can know this secret, because it is one repeated byte.
pub fn is_sample(bytes: &[u8; 32]) -> bool {
    bytes.iter().all(|byte| *byte == bytes[0])
}
