//! P5: a vendor that keeps its receipts finds out when the record was shortened or rewritten.

use super::ledger::{ADDRESS, Ledger, pinned_keys};
use super::world::{Skew, set};
use counterfoil_sdk::execution::Envelope;
use counterfoil_sdk::fetch::{Bounds, Fetch, FetchError, Later};
use counterfoil_sdk::formats::nonce::unbase64url;
use counterfoil_sdk::receipts::{AlarmKind, Checked, ReceiptStore, ReceiptsError};
use counterfoil_sdk::verify::KeySet;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

struct Held {
    ledger: Ledger,
    store: ReceiptStore,
    folder: TempDir,
}

fn held(count: usize, kept: &[usize]) -> Held {
    let (ledger, folder) = (Ledger::new(), tempfile::tempdir().expect("a folder"));
    let store = ReceiptStore::open(folder.path(), set(&pinned_keys())).expect("a store");
    let receipts = ledger.grow(count);
    for seq in kept {
        store.keep(&receipts[*seq]).expect("ours");
    }
    Held { ledger, store, folder }
}

fn notes(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    let notes = files.filter(|path| path.extension().is_some_and(|end| end == "note"));
    notes.map(|path| std::fs::read_to_string(path).expect("a note")).collect()
}

fn size(store: &ReceiptStore) -> u64 {
    store.seen().expect("readable").expect("something").size
}

#[tokio::test]
async fn a_record_that_only_grew_holds_what_i_hold() {
    for (before, more) in [(1, 1), (5, 3), (255, 2), (256, 300)] {
        let Held { ledger, store, folder: _folder } = held(before, &[0, before - 1]);
        assert_eq!(size(&store), before as u64);
        ledger.grow(more);
        let checked = store.check(ADDRESS, &ledger).await.expect("there");
        let found = if before == 1 { 1 } else { 2 };
        assert_eq!(checked, Checked { size: (before + more) as u64, found, alarm: None });
        assert_eq!(size(&store), (before + more) as u64);
    }
}

#[tokio::test]
async fn a_record_that_shrank_raises_an_alarm_with_both_notes() {
    let Held { ledger, store, folder } = held(5, &[1, 4]);
    let shortened = Ledger::new().with_leaves(&ledger, 3);
    let alarm = store.check(ADDRESS, &shortened).await.expect("there").alarm.expect("an alarm");
    assert_eq!(alarm.kind, AlarmKind::Shrank);
    let mut sizes: Vec<_> =
        notes(folder.path()).iter().map(|note| note.lines().nth(1).map(str::to_owned)).collect();
    sizes.sort();
    assert_eq!(sizes, [Some("3".to_owned()), Some("5".to_owned())]);
    assert_eq!(size(&store), 5, "the larger note stays");
}

/// Shows an older state once.
struct Late(Ledger, Ledger, AtomicU32);

impl Fetch for Late {
    fn get<'f>(&'f self, address: &'f str, bounds: Bounds) -> Later<'f, Result<Vec<u8>, FetchError>> {
        let shown = if self.2.fetch_add(1, Ordering::Relaxed) == 0 { &self.0 } else { &self.1 };
        shown.get(address, bounds)
    }
}

#[tokio::test]
async fn a_checkpoint_that_is_published_a_moment_later_is_no_alarm() {
    let Held { ledger, store, folder: _folder } = held(5, &[4]);
    let late = Late(Ledger::new().with_leaves(&ledger, 3), ledger, AtomicU32::new(0));
    assert_eq!(store.check(ADDRESS, &late).await.expect("there"), Checked { size: 5, found: 1, alarm: None });
}

#[tokio::test]
async fn a_record_that_forked_raises_an_alarm_at_the_same_size_and_beyond_it() {
    for size in [5, 8] {
        let Held { store, folder, .. } = held(5, &[1, 4]);
        let other = Ledger::new();
        other.grow(size);
        let alarm = store.check(ADDRESS, &other).await.expect("there").alarm.expect("an alarm");
        assert_eq!(alarm.kind, AlarmKind::Forked);
        assert_eq!(notes(folder.path()).len(), 2);
    }
}

#[tokio::test]
async fn receipts_of_two_histories_raise_an_alarm_whichever_is_shown() {
    let Held { store, folder: _folder, .. } = held(3, &[0]);
    let other = Ledger::new();
    store.keep(&other.grow(5)[4]).expect("ours");
    let alarm = store.check(ADDRESS, &other).await.expect("there").alarm.expect("an alarm");
    assert_eq!((alarm.kind, alarm.seq), (AlarmKind::Missing, Some(0)));
}

/// Serves tiles with one bit changed.
struct Lying(Ledger);

impl Fetch for Lying {
    fn get<'f>(&'f self, address: &'f str, bounds: Bounds) -> Later<'f, Result<Vec<u8>, FetchError>> {
        Box::pin(async move {
            let mut bytes = self.0.get(address, bounds).await?;
            if address.contains("/tile/") {
                bytes[40] ^= 1;
            }
            Ok(bytes)
        })
    }
}

#[tokio::test]
async fn a_log_whose_tiles_do_not_add_up_to_its_checkpoint_raises_an_alarm() {
    let Held { ledger, store, folder: _folder } = held(4, &[0]);
    ledger.grow(3);
    let alarm = store.check(ADDRESS, &Lying(ledger)).await.expect("there").alarm.expect("an alarm");
    assert_eq!(alarm.kind, AlarmKind::Forked);
}

#[tokio::test]
async fn a_checkpoint_that_no_pinned_key_signed_is_none_and_silence_is_no_alarm() {
    let Held { ledger, store, folder: _folder } = held(3, &[0]);
    let stranger = Ledger::by_a_stranger().with_leaves(&ledger, 3);
    assert!(matches!(store.check(ADDRESS, &stranger).await, Err(ReceiptsError::Refused(_))));
    assert!(matches!(store.keep(b"{}"), Err(ReceiptsError::Refused(_))));
    assert!(matches!(store.check("https://elsewhere", &ledger).await, Err(ReceiptsError::Away(_))));
}

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/vectors")
}

#[test]
fn an_execution_without_an_acceptance_is_overdue_after_ten_minutes() {
    let case = std::fs::read(vectors().join("receipts/execution.json")).expect("a case");
    let case: Value = serde_json::from_slice(&case).expect("JSON");
    let receipt = &case["receipt"];
    let bytes = receipt["statement"]["payload"]["bytes"].as_str().expect("bytes");
    let statement = Envelope::parse(&unbase64url(bytes).expect("base64url")).expect("an envelope");
    let pinned =
        KeySet::parse(&std::fs::read(vectors().join("jwks.json")).expect("keys")).expect("a key set");
    let (skew, folder) = (Skew::default(), tempfile::tempdir().expect("a folder"));
    let store = ReceiptStore::open(folder.path(), pinned).expect("a store").with_clock(skew.clock());

    store.expect_acceptance(&statement).expect("written");
    skew.add(9 * 60_000);
    assert_eq!(store.overdue().expect("readable"), []);
    skew.add(2 * 60_000);
    assert_eq!(store.overdue().expect("readable"), [statement]);

    store.accept(receipt.to_string().as_bytes()).expect("ours");
    assert_eq!(store.overdue().expect("readable"), []);
}
