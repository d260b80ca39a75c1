//! The record as a package, verified by the program that knows nothing of the service: nothing is OMITTED.

use std::collections::BTreeMap;
use std::io::{self, Read};

use counterfoil_core::checkpoint::Checkpoint;
use counterfoil_core::digest::Digest;
use counterfoil_core::envelope::Signed;
use counterfoil_core::id::ProviderId;
use counterfoil_core::package::{
    FileDigest, Line, Manifest, ManifestType, Promise, ProviderKeyFile, Report, Source, Trust, Verdict, name,
    verify, write_leaf,
};
use counterfoil_core::receipt;

use super::world::World;
use crate::keys;
use crate::ledger::store::{EntryRow, read_head};

struct Files(BTreeMap<&'static str, Vec<u8>>);

impl Source for Files {
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn Read + '_>>> {
        Ok(self.0.get(name).map(|bytes| Box::new(bytes.as_slice()) as Box<dyn Read>))
    }
}

/// Packs the whole record and verifies it. `within`: what both providers promise, in milliseconds, if they sign.
pub(super) async fn verified(world: &World, within: Option<i64>) -> Report {
    let mut client = world.ledger.database().app().await.unwrap();
    let tx = client.begin(world.id()).await.unwrap();
    let head = read_head(&tx).await.unwrap().unwrap();
    let jwks = keys::document(&world.project.issuer, &keys::all(&tx).await.unwrap());
    drop(tx);
    drop(client);
    let (bundle, lines) = entries(world).await;
    let origin = world.project.issuer.origin();
    let note = Checkpoint { origin, size: head.size(), root: head.root() }.sign(&world.ledger.keys().log);
    let text = |value: &serde_json::Value| serde_json::to_vec(value).unwrap();
    let providers = serde_json::to_value(ProviderKeyFile { keys: Vec::new() }).unwrap();
    let jwks_value = serde_json::to_value(&jwks).unwrap();
    let mut files = BTreeMap::from([
        (name::ENTRIES, bundle),
        (name::STATEMENTS, lines),
        (name::NEW_CHECKPOINT, note.into_bytes()),
        (name::JWKS, text(&jwks_value)),
        (name::PROVIDER_KEYS, text(&providers)),
        (name::TOMBSTONES, b"[]".to_vec()),
    ]);
    let digests = files.iter().map(|(name, bytes)| ((*name).to_owned(), FileDigest::of(bytes))).collect();
    let manifest = Manifest {
        typ: ManifestType::V1,
        iss: world.project.issuer.clone(),
        project: world.id(),
        at: world.now,
        first: 0,
        size: head.size(),
        files: digests,
    };
    let signed = Signed::sign(manifest, &world.ledger.keys().ledger);
    files.insert(name::MANIFEST, signed.bytes().to_vec());
    let trust = receipt::Trust::from_jwks(&serde_json::to_vec(&jwks_value).unwrap()).unwrap();
    let registry = move |_: &Digest, _: &ProviderId| {
        Some(within.map_or(Promise::Nothing, |within| Promise::Signs { within }))
    };
    let trust = Trust { keys: &trust, since: None, held: &[], registry: &registry };
    verify(&Files(files), &trust).unwrap()
}

/// Nothing is left out, nothing is too much, and the end is as open as every end is.
pub(super) async fn assert_complete(world: &World, within: Option<i64>) -> Report {
    let report = verified(world, within).await;
    assert_eq!(report.verdict, Verdict::Unanchored, "{}", report.verdict);
    report
}

async fn entries(world: &World) -> (Vec<u8>, Vec<u8>) {
    let (client, driver) = world.superuser().await;
    tokio::spawn(driver);
    let sql = "select seq, at, kind, body_digest, prev, body, path, null::text as note from entries \
               where project_id = $1 order by seq";
    let rows = client.query(sql, &[&world.id().uuid()]).await.unwrap();
    let (mut bundle, mut lines) = (Vec::new(), Vec::new());
    for row in &rows {
        let row = EntryRow::read(world.id(), row).unwrap();
        write_leaf(&mut bundle, &row.entry.bytes()).unwrap();
        lines.extend(Line::of_body(row.entry.seq, &row.body.unwrap()).unwrap().bytes());
    }
    (bundle, lines)
}
