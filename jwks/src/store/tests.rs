//! C3: our private keys rest sealed, a rotation mints a new key id, old public keys stay.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Capability, Decision, Ledger, Log, SigningKey};
use counterfoil_core::time::Timestamp;
use tempfile::TempDir;

use super::*;
use crate::secret::PAIRWISE_SUB;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_796_037_600_000 + millis).unwrap()
}

/// A key-encryption key that is no sample: its bytes differ.
fn kek() -> Kek {
    Kek::from_hex(&"0123456789abcdef".repeat(4), "test").expect("64 hex digits")
}

fn other_kek() -> Kek {
    Kek::from_hex(&"fedcba9876543210".repeat(4), "test").expect("64 hex digits")
}

fn folder_with_gateway_store() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("gateway-keys.sealed");
    let mut store = Store::create(&path, Holder::Gateway, kek()).unwrap();
    store.mint::<Decision>(at(0)).unwrap();
    store.mint::<Capability>(at(1)).unwrap();
    store.mint_secret(PAIRWISE_SUB).unwrap();
    (folder, path)
}

fn open(path: &Path) -> Result<Store, StoreError> {
    Store::open(path, Holder::Gateway, kek(), Mode::Production)
}

/// Changes the JSON on disk as somebody would who can write the file but lacks the key.
fn edit(path: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let mut document = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut document);
    fs::write(path, serde_json::to_vec(&document).unwrap()).unwrap();
}

#[test]
fn a_key_signs_the_same_after_a_restart() {
    let (_folder, path) = folder_with_gateway_store();
    let first = open(&path).unwrap().signing_key::<Decision>().unwrap();
    let second = open(&path).unwrap().signing_key::<Decision>().unwrap();

    let signature = second.sign(b"statement");

    assert_eq!(first.kid(), second.kid());
    assert!(first.public().verify(b"statement", &signature).is_ok());
}

#[test]
fn each_purpose_has_a_key_of_its_own() {
    let (_folder, path) = folder_with_gateway_store();
    let store = open(&path).unwrap();

    let decision = store.signing_key::<Decision>().unwrap().kid().to_string();
    let capability = store.signing_key::<Capability>().unwrap().kid().to_string();

    assert_ne!(decision, capability);
    assert!(matches!(store.signing_key::<Ledger>(), Err(StoreError::NoKey(Purpose::Ledger))));
}

#[test]
fn a_ledger_key_may_not_rest_at_the_gateway() {
    let (_folder, path) = folder_with_gateway_store();

    let refused = open(&path).unwrap().mint::<Ledger>(at(2));

    assert!(matches!(refused, Err(StoreError::NotHeldHere { purpose: Purpose::Ledger, holder: "gateway" })));
}

#[test]
fn a_rotation_mints_a_new_key_id_and_keeps_the_old_public_key() {
    let (_folder, path) = folder_with_gateway_store();
    let mut store = open(&path).unwrap();
    let old = store.signing_key::<Decision>().unwrap();
    let signature = old.sign(b"an old receipt");

    store.stage::<Decision>(at(10)).unwrap();
    store.promote::<Decision>(at(20)).unwrap();

    let store = open(&path).unwrap();
    let published = store.published();
    let kept = published.iter().find(|key| key.public.thumbprint() == *old.kid()).unwrap();
    let new = store.signing_key::<Decision>().unwrap();
    let fresh = published.iter().find(|key| key.public.thumbprint() == *new.kid()).unwrap();
    assert_ne!(new.kid(), old.kid());
    assert_eq!((kept.from, kept.until), (at(0), Some(at(20))));
    assert_eq!((fresh.from, fresh.until), (at(20), None));
    assert!(kept.public.verify(b"an old receipt", &signature).is_ok());
}

#[test]
fn a_rotation_that_stopped_half_way_goes_on_with_the_same_key() {
    let (_folder, path) = folder_with_gateway_store();
    let staged = open(&path).unwrap().stage::<Decision>(at(10)).unwrap().kid().to_string();

    let mut after_the_crash = open(&path).unwrap();

    let current = after_the_crash.signing_key::<Decision>().unwrap().kid().to_string();
    assert_ne!(current, staged);
    assert!(after_the_crash.published().iter().all(|key| key.public.thumbprint().to_string() != staged));
    assert_eq!(after_the_crash.stage::<Decision>(at(11)).unwrap().kid().to_string(), staged);
}

#[test]
fn nothing_is_promoted_that_was_not_staged() {
    let (_folder, path) = folder_with_gateway_store();

    let refused = open(&path).unwrap().promote::<Decision>(at(5));

    assert!(matches!(refused, Err(StoreError::NothingStaged(Purpose::Decision))));
}

#[test]
fn a_rotation_leaves_no_private_half_of_the_old_key() {
    let (_folder, path) = folder_with_gateway_store();
    let mut store = open(&path).unwrap();
    store.stage::<Decision>(at(10)).unwrap();
    store.promote::<Decision>(at(20)).unwrap();

    let document: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();

    let retired = document["keys"].as_array().unwrap().iter().find(|key| key["state"] == "retired").unwrap();
    assert!(retired["sealed"].is_null());
}

#[test]
fn a_second_first_key_is_refused() {
    let (_folder, path) = folder_with_gateway_store();

    let refused = open(&path).unwrap().mint::<Decision>(at(5));

    assert!(matches!(refused, Err(StoreError::HasKey(Purpose::Decision))));
}

#[test]
fn another_key_encryption_key_is_refused_by_name() {
    let (_folder, path) = folder_with_gateway_store();

    let refused = Store::open(&path, Holder::Gateway, other_kek(), Mode::Dev).unwrap_err();

    let text = refused.to_string();
    assert!(matches!(refused, StoreError::OtherKek { .. }), "{text}");
    assert!(text.contains(&kek().id()) && text.contains(&other_kek().id()), "{text}");
}

#[test]
fn a_wrong_key_under_the_right_name_opens_nothing() {
    let (_folder, path) = folder_with_gateway_store();
    edit(&path, |document| document["kek"] = other_kek().id().into());

    let refused = Store::open(&path, Holder::Gateway, other_kek(), Mode::Dev);

    assert!(matches!(refused, Err(StoreError::Tampered { .. })));
}

#[test]
fn a_file_that_others_may_read_is_refused() {
    let (_folder, path) = folder_with_gateway_store();
    for mode in [0o640, 0o604, 0o660, 0o700, 0o644] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();

        let refused = open(&path);

        assert!(matches!(refused, Err(StoreError::File(FileError::TooOpen { .. }))), "{mode:o}");
    }
}

#[test]
fn a_store_is_written_for_its_owner_alone() {
    let (_folder, path) = folder_with_gateway_store();

    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;

    assert_eq!(mode, 0o600);
}

#[test]
fn a_store_is_never_replaced_by_an_empty_one() {
    let (_folder, path) = folder_with_gateway_store();

    let refused = Store::create(&path, Holder::Gateway, kek());

    assert!(matches!(refused, Err(StoreError::File(FileError::Exists { .. }))));
}

#[test]
fn a_removed_public_key_is_noticed() {
    let (_folder, path) = folder_with_gateway_store();
    edit(&path, |document| {
        document["keys"].as_array_mut().unwrap().pop();
    });

    assert!(matches!(open(&path), Err(StoreError::Tampered { .. })));
}

#[test]
fn a_seal_moved_to_another_purpose_is_noticed() {
    let (_folder, path) = folder_with_gateway_store();
    edit(&path, |document| {
        let taken = document["keys"][0]["sealed"].clone();
        document["keys"][1]["sealed"] = taken;
    });

    assert!(matches!(open(&path), Err(StoreError::Tampered { .. })));
}

/// The check over the whole file would notice too; the seal alone must be enough.
#[test]
fn a_seal_is_bound_to_its_purpose_and_key_id() {
    let bound = document::key_bound(Holder::Gateway, Purpose::Decision, "a");
    let sealed = seal::seal(&[7; 32], &bound, &kek()).unwrap();

    let other_purpose = document::key_bound(Holder::Gateway, Purpose::Capability, "a");
    let other_kid = document::key_bound(Holder::Gateway, Purpose::Decision, "b");
    let other_holder = document::key_bound(Holder::Evidence, Purpose::Decision, "a");

    assert!(seal::open(&sealed, &bound, &kek()).is_ok());
    for elsewhere in [other_purpose, other_kid, other_holder] {
        assert!(seal::open(&sealed, &elsewhere, &kek()).is_err());
    }
}

#[test]
fn two_seals_of_one_secret_share_no_nonce() {
    let first = serde_json::to_value(seal::seal(&[7; 32], b"", &kek()).unwrap()).unwrap();
    let second = serde_json::to_value(seal::seal(&[7; 32], b"", &kek()).unwrap()).unwrap();

    assert_ne!(first["nonce"], second["nonce"]);
    assert_ne!(first["box"], second["box"]);
}

#[test]
fn the_store_of_the_other_service_is_refused() {
    let (_folder, path) = folder_with_gateway_store();

    let refused = Store::open(&path, Holder::Evidence, kek(), Mode::Dev);

    assert!(matches!(refused, Err(StoreError::OtherHolder { found: "gateway", wanted: "evidence", .. })));
}

#[test]
fn a_published_sample_key_boots_in_dev_alone() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("evidence-keys.sealed");
    let mut store = Store::create(&path, Holder::Evidence, kek()).unwrap();
    store.import(&SigningKey::<Log>::from_seed(&[0x14; 32]), at(0)).unwrap();

    let dev = Store::open(&path, Holder::Evidence, kek(), Mode::Dev);
    let production = Store::open(&path, Holder::Evidence, kek(), Mode::Production);

    assert!(dev.is_ok());
    assert!(matches!(production, Err(StoreError::SampleKey(_))));
}

#[test]
fn a_sample_key_encryption_key_boots_in_dev_alone() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("evidence-keys.sealed");
    let zeros = || Kek::from_hex(&"00".repeat(32), "test").unwrap();
    Store::create(&path, Holder::Evidence, zeros()).unwrap();

    assert!(Store::open(&path, Holder::Evidence, zeros(), Mode::Dev).is_ok());
    let refused = Store::open(&path, Holder::Evidence, zeros(), Mode::Production);
    assert!(matches!(refused, Err(StoreError::SampleKey(_))));
}

#[test]
fn a_change_made_meanwhile_is_not_overwritten() {
    let (_folder, path) = folder_with_gateway_store();
    let mut slow = open(&path).unwrap();
    open(&path).unwrap().mint_secret("session-seal").unwrap();

    let refused = slow.mint_secret("another");

    assert!(matches!(refused, Err(StoreError::ChangedMeanwhile { .. })));
    assert!(open(&path).unwrap().secret("session-seal").is_ok());
}

#[test]
fn a_named_secret_stays_the_same_and_is_made_once() {
    let (_folder, path) = folder_with_gateway_store();
    let first = *open(&path).unwrap().secret(PAIRWISE_SUB).unwrap().dangerous_bytes();

    let again = open(&path).unwrap().mint_secret(PAIRWISE_SUB);

    assert!(matches!(again, Err(StoreError::SecretName(_))));
    assert_eq!(*open(&path).unwrap().secret(PAIRWISE_SUB).unwrap().dangerous_bytes(), first);
    assert!(matches!(open(&path).unwrap().secret("nothing"), Err(StoreError::NoSecret(_))));
}

#[test]
fn nothing_secret_is_printed_or_stored_in_clear() {
    let (_folder, path) = folder_with_gateway_store();
    let store = open(&path).unwrap();
    let key = store.signing_key::<Decision>().unwrap();
    let secret = store.secret(PAIRWISE_SUB).unwrap();

    let seed = key.dangerous_seed();
    let printed = format!("{store:?} {key:?} {secret:?} {:?} {:?}", kek(), store.published());
    let stored = fs::read_to_string(&path).unwrap();

    for bytes in [seed.as_slice(), secret.dangerous_bytes(), kek().bytes()] {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let decimal = format!("{bytes:?}");
        let base64 = base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, bytes);
        for form in [hex, decimal.trim_matches(['[', ']']).to_owned(), base64] {
            assert!(!printed.contains(&form) && !stored.contains(&form), "{printed}");
        }
    }
    assert!(printed.contains(&key.kid().to_string()) && printed.contains("Secret(pairwise-sub)"));
}

#[test]
fn the_document_names_purpose_and_time_of_every_key() {
    let (_folder, path) = folder_with_gateway_store();
    let store = open(&path).unwrap();
    let iss: Issuer = "https://gw.example/p/7-k3m9q2v8".parse().unwrap();

    let jwks = serde_json::to_value(crate::document(&iss, &store.published())).unwrap();

    assert_eq!(jwks["iss"], "https://gw.example/p/7-k3m9q2v8");
    let [decision, capability] = jwks["keys"].as_array().unwrap().as_slice() else {
        panic!("two keys: {jwks}")
    };
    let decision_kid = store.signing_key::<Decision>().unwrap().kid().to_string();
    assert_eq!((&decision["purpose"], &decision["alg"]), (&"decision".into(), &"Ed25519".into()));
    assert_eq!((&capability["purpose"], &capability["alg"]), (&"capability".into(), &"EdDSA".into()));
    assert_eq!(decision["kid"], decision_kid);
    assert_eq!(decision["from"], at(0).to_string());
    assert!(decision.get("until").is_none());
    assert_eq!(
        (&decision["kty"], &decision["crv"], &decision["use"]),
        (&"OKP".into(), &"Ed25519".into(), &"sig".into())
    );
    assert!(decision.get("d").is_none());
}
