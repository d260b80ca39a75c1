//! Published texts inside a package: what providers promised, and what decided.
//!
//! A text counts by its digest alone, which the record names; that it comes from the package makes it nobody's word.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use counterfoil_core::digest::Digest;
use counterfoil_core::id::ProviderId;
use counterfoil_core::package::{Promise, Source, name};
use counterfoil_policy::{Bundle, Registry};
use serde::Deserialize;

use super::statements::each_line;

/// Registries and rules are kilobytes; this many of them fit into memory.
const MOST_BYTES: usize = 64 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    seq: u64,
    kind: Kind,
    text: String,
}

#[derive(Clone, Copy, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Registry,
    Rules,
}

#[derive(Default)]
pub(super) struct Bundles {
    /// By digest; `None` where the text is no registry that this program reads.
    registries: HashMap<Digest, Option<Registry>>,
    /// Every pair that stood together, as texts, in the order of publication.
    pairs: Vec<(Rc<str>, Rc<str>)>,
    /// How many pairs were compiled, and what came out.
    compiled: RefCell<(usize, HashMap<Digest, Rc<Bundle>>)>,
    /// Whether the package holds texts at all.
    pub(super) are_there: bool,
}

impl Bundles {
    pub(super) fn read(source: &dyn Source) -> anyhow::Result<Self> {
        let mut bundles = Self::default();
        let Some(file) = source.open(name::BUNDLES)? else { return Ok(bundles) };
        bundles.are_there = true;
        let (mut registry, mut rules): (Option<Rc<str>>, Option<Rc<str>>) = (None, None);
        let (mut size, mut last) = (0, None);
        each_line(file, name::BUNDLES, |line: Line| {
            size += line.text.len();
            anyhow::ensure!(size <= MOST_BYTES, "{} is larger than {MOST_BYTES} bytes", name::BUNDLES);
            anyhow::ensure!(last.is_none_or(|last| last < line.seq), "{} is out of order", name::BUNDLES);
            last = Some(line.seq);
            let text: Rc<str> = line.text.into();
            match line.kind {
                Kind::Registry => {
                    let digest = Digest::of(text.as_bytes());
                    bundles.registries.insert(digest, Registry::parse(&text).ok());
                    registry = Some(text);
                }
                Kind::Rules => rules = Some(text),
            }
            if let (Some(registry), Some(rules)) = (&registry, &rules) {
                bundles.pairs.push((Rc::clone(registry), Rc::clone(rules)));
            }
            Ok(())
        })?;
        Ok(bundles)
    }

    /// The registry's text of the bundle of that digest, if two of the texts make it.
    pub(super) fn registry_of(&self, policy: &Digest) -> Option<Rc<str>> {
        let digest = self.bundle(policy)?.registry_digest();
        let text = |(registry, _): &(Rc<str>, Rc<str>)| {
            (Digest::of(registry.as_bytes()) == digest).then(|| Rc::clone(registry))
        };
        self.pairs.iter().find_map(text)
    }

    /// What the registry of that digest says of a provider; `None` where its text is not here.
    pub(super) fn promise(&self, document: &Digest, provider: &ProviderId) -> Option<Promise> {
        let registry = self.registries.get(document)?.as_ref()?;
        let signs = registry.provider(provider.as_str()).filter(|provider| provider.signs());
        Some(match signs {
            Some(provider) => Promise::Signs {
                within: i64::try_from(provider.sign_within().as_millis()).unwrap_or(i64::MAX),
            },
            None => Promise::Nothing,
        })
    }

    /// The bundle of that digest, if two of the texts make it.
    pub(super) fn bundle(&self, policy: &Digest) -> Option<Rc<Bundle>> {
        let mut compiled = self.compiled.borrow_mut();
        // Compiling takes long where rules are many; most packages need the newest pair or the first.
        while !compiled.1.contains_key(policy) && compiled.0 < self.pairs.len() {
            let (registry, rules) = &self.pairs[compiled.0];
            compiled.0 += 1;
            if let Ok(bundle) = Bundle::compile(registry, rules) {
                compiled.1.insert(bundle.digest(), Rc::new(bundle));
            }
        }
        compiled.1.get(policy).cloned()
    }
}
