//! Calls under way in legacy sessions, so that `notifications/cancelled` finds the one it means.
//!
//! In the modern era, and whenever a connection breaks, the dropped request itself is the cancellation.

use std::collections::HashMap;
use std::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// A session and a request id in it, both as they were written.
pub type Place = (String, String);

#[derive(Default)]
pub struct InFlight(Mutex<HashMap<Place, CancellationToken>>);

/// Takes the call out when it is over.
pub struct Entered<'a> {
    calls: &'a InFlight,
    place: Place,
}

impl InFlight {
    /// A second call under the id of one that is still under way cannot be told from it: neither is cancelled by name.
    pub fn enter(&self, place: Place, token: CancellationToken) -> Entered<'_> {
        let mut calls = self.0.lock().expect("no holder panics");
        calls.entry(place.clone()).and_modify(|other| *other = CancellationToken::new()).or_insert(token);
        Entered { calls: self, place }
    }

    pub fn cancel(&self, place: &Place) {
        if let Some(token) = self.0.lock().expect("no holder panics").get(place) {
            token.cancel();
        }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let mut calls = self.calls.0.lock().expect("no holder panics");
        calls.remove(&self.place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_cancelled_by_its_own_id_alone() {
        let calls = InFlight::default();
        let place = |id: &str| ("session".to_owned(), id.to_owned());
        let (one, two) = (CancellationToken::new(), CancellationToken::new());
        let entered = calls.enter(place("1"), one.clone());
        let _two = calls.enter(place("2"), two.clone());

        calls.cancel(&place("1"));

        assert!(one.is_cancelled() && !two.is_cancelled());
        drop(entered);
        assert_eq!(calls.0.lock().expect("lock").len(), 1);
    }
}
