//! Keys over time, as `key/v1` entries tell it.

use counterfoil_core::key::{Purpose, Thumbprint};
use counterfoil_core::statement::KeyEvent;
use counterfoil_core::time::Timestamp;
use serde::Serialize;

use super::super::projection::{self, Seen};

/// One key from its introduction on.
#[derive(Clone, Debug, Serialize)]
pub(in crate::public) struct KeyLife {
    /// RFC 7638: the identity of the key.
    pub(in crate::public) thumbprint: Thumbprint,
    pub(in crate::public) purpose: Purpose,
    pub(in crate::public) provider: Option<String>,
    pub(in crate::public) introduced: Place,
    pub(in crate::public) ended: Option<Ended>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(in crate::public) struct Place {
    pub(in crate::public) seq: u64,
    pub(in crate::public) at: Timestamp,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(in crate::public) struct Ended {
    #[serde(flatten)]
    pub(in crate::public) place: Place,
    pub(in crate::public) event: KeyEvent,
    /// Shown beside older verdicts; it changes none.
    pub(in crate::public) compromised_since: Option<Timestamp>,
}

/// Oldest first.
pub(super) fn lives(rows: &[Seen]) -> Vec<KeyLife> {
    let mut lives: Vec<KeyLife> = Vec::new();
    for line in rows.iter().filter_map(projection::key) {
        let place = Place { seq: line.seq, at: line.at };
        match line.event {
            KeyEvent::Introduced => lives.push(KeyLife {
                thumbprint: line.thumbprint,
                purpose: line.purpose,
                provider: line.provider,
                introduced: place,
                ended: None,
            }),
            KeyEvent::Retired | KeyEvent::Revoked => {
                let ended = Ended { place, event: line.event, compromised_since: line.compromised_since };
                if let Some(life) = lives.iter_mut().find(|life| life.thumbprint == line.thumbprint) {
                    life.ended = Some(ended);
                }
            }
        }
    }
    lives
}
