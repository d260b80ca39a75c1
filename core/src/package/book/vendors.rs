//! What vendors claim: the call before, and what their tools do.

use super::Book;
use crate::digest::Digest;
use crate::entry::Entry;
use crate::reconcile::{Decided, Found, unknown_previous};
use crate::statement::{Decision, FindingCode, Session};

impl Book {
    /// From here on it is known what this session is told.
    pub(in crate::package) fn session(&mut self, said: &Session, entry: &Entry) {
        self.issued.follow(said, Digest::of(&entry.bytes()));
    }

    /// A hash that the session was never told. Of one that was opened before the first entry nobody can say.
    pub(super) fn previous(&mut self, decision: &Decision, entry: &Entry) {
        if decision.session.is_none() {
            return;
        }
        if self.issued.is_unknown(decision, Digest::of(&entry.bytes())) {
            self.want(unknown_previous(&Decided::of(decision, entry.body, entry)));
        }
    }

    /// A catalogue that no key signed which counted there.
    pub(in crate::package) fn unsigned_catalog(&mut self, entry: &Entry) {
        self.want(Found {
            code: FindingCode::CatalogSignature,
            action: None,
            statement: entry.body,
            seq: entry.seq,
            since: entry.at,
        });
    }
}
