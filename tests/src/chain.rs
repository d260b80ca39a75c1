//! The ledger, recomputed from outside: entry columns and signed bodies, nothing else.

use anyhow::{Context, ensure};
use counterfoil_core::digest::Digest;
use counterfoil_core::entry::{Entry, Kind, genesis};
use counterfoil_core::envelope::Envelope;
use counterfoil_core::id::{ActionId, ProjectId};
use counterfoil_core::key::JwkSet;
use counterfoil_core::statement::{Statement, Verdict};
use counterfoil_core::time::Timestamp;
use counterfoil_core::tree::{Frontier, Hash};
use postgres::{Client, Transaction};
use std::collections::{BTreeMap, HashMap};

/// One entry with what its body says.
pub struct Link {
    pub entry: Entry,
    pub statement: Statement,
    pub digest: Digest,
}

/// A chain that holds: dense, linked, signed, and the tree that the head names.
pub struct Chain {
    pub links: Vec<Link>,
    /// Of each body's digest, where it stands first.
    places: HashMap<Digest, u64>,
}

impl Chain {
    /// Reads a project's chain and checks every part of it.
    pub fn read(database: &mut Client, project: &str, jwks: &[u8]) -> anyhow::Result<Self> {
        let id: ProjectId = project.parse()?;
        let keys = JwkSet::parse(jwks)?;
        // Entries and head of one moment: the ledger goes on while it is read.
        let mut database = database
            .build_transaction()
            .isolation_level(postgres::IsolationLevel::RepeatableRead)
            .read_only(true)
            .start()?;
        let rows = database.query(
            "select seq, at, kind, body_digest, prev, hash, body from entries where project_id = $1::text::uuid order by seq",
            &[&id.uuid().to_string()],
        )?;
        let (mut links, mut prev, mut tree) = (Vec::new(), genesis(id), Frontier::empty());
        for (expected, row) in (0..).zip(rows) {
            let seq = u64::try_from(row.get::<_, i64>(0))?;
            ensure!(seq == expected, "entry {expected} is missing");
            let at = Timestamp::from_millis(row.get(1))?;
            let kind: Kind = row.get::<_, &str>(2).parse()?;
            let entry = Entry::new(id, seq, at, kind, digest(row.get(3))?, digest(row.get(4))?);
            ensure!(entry.prev == prev, "entry {seq} does not follow the one before");
            ensure!(entry.hash() == digest(row.get(5))?, "entry {seq} has another hash than its columns");
            prev = entry.hash();
            tree.append(&[entry.leaf_hash()]);
            links.push(signed(entry, row.get(6), &keys).with_context(|| format!("entry {seq}"))?);
        }
        head_is(&mut database, id, &tree)?;
        let mut places = HashMap::new();
        for link in &links {
            places.entry(link.digest).or_insert(link.entry.seq);
        }
        Ok(Self { links, places })
    }

    /// Every ALLOW, by its action.
    pub fn allowed(&self) -> BTreeMap<ActionId, u64> {
        let allow = |link: &Link| match &link.statement {
            Statement::Decision(d) if d.verdict == Verdict::Allow => Some((d.action, link.entry.seq)),
            _ => None,
        };
        self.links.iter().filter_map(allow).collect()
    }

    pub fn position(&self, digest: &str) -> Option<u64> {
        self.places.get(&digest.parse().ok()?).copied()
    }
}

fn digest(bytes: Vec<u8>) -> anyhow::Result<Digest> {
    let bytes: [u8; 32] = bytes.try_into().ok().context("a digest is 32 bytes")?;
    Ok(Digest::from_bytes(bytes))
}

fn signed(entry: Entry, body: Option<Vec<u8>>, keys: &JwkSet) -> anyhow::Result<Link> {
    let envelope = Envelope::parse(&body.context("has no body")?)?;
    ensure!(envelope.digest() == entry.body, "the body is of another digest");
    let statement = envelope.statement()?;
    ensure!(statement.kind() == entry.kind, "the body is of another kind");
    let key = keys.find(envelope.kid(), statement.purpose()).context("signed by no key of this project")?;
    envelope.verify(&key.public_key()?)?;
    Ok(Link { digest: envelope.digest(), entry, statement })
}

fn head_is(database: &mut Transaction<'_>, project: ProjectId, tree: &Frontier) -> anyhow::Result<()> {
    let head = database.query_one(
        "select size, root from heads where project_id = $1::text::uuid",
        &[&project.uuid().to_string()],
    )?;
    ensure!(u64::try_from(head.get::<_, i64>(0))? == tree.size(), "the head names another size");
    let root: [u8; 32] = head.get::<_, Vec<u8>>(1).try_into().ok().context("a root is 32 bytes")?;
    ensure!(Hash::from_bytes(root) == tree.root(), "the head names another root");
    Ok(())
}
