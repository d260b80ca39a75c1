//! What vendors were told in the last minute, to be told again word for word.
//!
//! Promised: bounded, and gone after a minute. Whether a stored decision may be told again, the ledger says each time; what
//! only this process knows of it (the salts, and the capability) is here. Another process tells the same decision without.

use counterfoil_core::digest::Digest;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// As long as the ledger lets a stored answer be told again.
const LIFE: Duration = Duration::from_secs(60);
/// Some 6 KiB each.
const KEPT: usize = 4096;

/// Answers by the digest of their decision.
#[derive(Default)]
pub struct Told(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    bodies: HashMap<Digest, (Instant, String)>,
    by_age: VecDeque<Digest>,
}

impl Told {
    pub fn remember(&self, decision: Digest, body: &str) {
        self.remember_at(decision, body, Instant::now());
    }

    /// The same answer again.
    pub fn recall(&self, decision: &Digest) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, body) = kept.bodies.get(decision)?;
        (at.elapsed() < LIFE).then(|| body.clone())
    }

    fn remember_at(&self, decision: Digest, body: &str, now: Instant) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(oldest) = kept.by_age.front().copied() {
            let is_over = kept.bodies.get(&oldest).is_none_or(|(at, _)| now.duration_since(*at) >= LIFE);
            if kept.by_age.len() < KEPT && !is_over {
                break;
            }
            kept.by_age.pop_front();
            kept.bodies.remove(&oldest);
        }
        if kept.bodies.insert(decision, (now, body.to_owned())).is_none() {
            kept.by_age.push_back(decision);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // T8
    #[test]
    fn what_is_kept_is_bounded_and_ends() {
        let told = Told::default();
        let digest = |n: usize| Digest::of(n.to_string().as_bytes());
        for n in 0..=KEPT {
            told.remember(digest(n), "told");
        }
        assert_eq!(told.recall(&digest(0)), None);
        assert_eq!(told.recall(&digest(KEPT)).as_deref(), Some("told"));

        told.remember_at(digest(KEPT + 1), "later", Instant::now() + LIFE);
        assert_eq!(told.recall(&digest(KEPT)), None, "what is over makes room");
        assert_eq!(told.recall(&digest(KEPT + 1)).as_deref(), Some("later"));
    }
}
