//! Grants inside a package: what people gave, as decisions saw it.
//!
//! A document counts by its digest alone, which the facts of a decision name; that it comes from the package makes it
//! nobody's word.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use anyhow::ensure;
use counterfoil_core::control::{GrantDocument, Grants as Given};
use counterfoil_core::digest::Digest;
use counterfoil_core::id::AgentId;
use counterfoil_core::nonce::Nonce16;
use counterfoil_core::package::{Source, name};
use counterfoil_policy::{Bundle, Grants};
use serde::Deserialize;

use super::statements::each_line;

/// A document is at most a few kilobytes; this many of them fit into memory.
const MOST: usize = 100_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// Of the `grant/v1` that names it.
    seq: u64,
    /// The project's, which the digest of an agent's grants is taken with.
    nonce: Nonce16,
    document: GrantDocument,
}

#[derive(Default)]
pub(super) struct GrantTexts {
    nonce: Option<Nonce16>,
    documents: HashMap<Digest, GrantDocument>,
    /// What was compiled last: neighbouring decisions mostly need the same.
    last: RefCell<Option<Compiled>>,
}

struct Compiled {
    policy: Digest,
    of: Vec<Digest>,
    grants: Rc<Grants>,
}

impl GrantTexts {
    pub(super) fn read(source: &dyn Source) -> anyhow::Result<Self> {
        let mut texts = Self::default();
        let Some(file) = source.open(name::GRANTS)? else { return Ok(texts) };
        let mut last = None;
        each_line(file, name::GRANTS, |line: Line| {
            ensure!(last.is_none_or(|last| last < line.seq), "{} is out of order", name::GRANTS);
            ensure!(texts.documents.len() < MOST, "{} has more than {MOST} lines", name::GRANTS);
            last = Some(line.seq);
            texts.nonce = Some(line.nonce);
            texts.documents.insert(line.document.digest(), line.document);
            Ok(())
        })?;
        Ok(texts)
    }

    /// The documents of these digests; `None` if one of them is not here.
    fn of(&self, digests: &[Digest]) -> Option<Vec<GrantDocument>> {
        digests.iter().map(|digest| self.documents.get(digest).cloned()).collect()
    }

    /// The grants of these digests, compiled against the bundle; `None` if one of them is not here.
    pub(super) fn compiled(&self, digests: &[Digest], bundle: &Bundle) -> Option<Rc<Grants>> {
        if digests.is_empty() {
            return Some(Rc::default());
        }
        let mut last = self.last.borrow_mut();
        let policy = bundle.digest();
        if let Some(known) = last.as_ref()
            && (known.policy, known.of.as_slice()) == (policy, digests)
        {
            return Some(Rc::clone(&known.grants));
        }
        let grants = Rc::new(Grants::compile(&self.of(digests)?, bundle));
        *last = Some(Compiled { policy, of: digests.to_vec(), grants: Rc::clone(&grants) });
        Some(grants)
    }

    /// The member `grants` of a decision about this agent; `None` where it cannot be known.
    pub(super) fn digest(&self, digests: &[Digest], agent: AgentId) -> Option<Digest> {
        let given = Given { v: 1, nonce: self.nonce?, grants: self.of(digests)? };
        Some(given.digest_for(agent))
    }
}
