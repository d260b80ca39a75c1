//! P7: every published case comes out as it says, through what this package offers. A folder or a case that nobody knows how
//! to run is a failure. Formats themselves are those of the core crate, whose own tests compare every byte.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use counterfoil_sdk::execution::{ReceivedForm, Submitted};
use counterfoil_sdk::formats::capability::call_hash;
use counterfoil_sdk::formats::checkpoint::Checkpoint;
use counterfoil_sdk::formats::commitment::{OpeningSeed, document_value, hmac_sha256};
use counterfoil_sdk::formats::digest::Digest;
use counterfoil_sdk::formats::entry::{Entry, genesis};
use counterfoil_sdk::formats::envelope::Envelope;
use counterfoil_sdk::formats::json::{Profile, canonical, canonical_text, parse};
use counterfoil_sdk::formats::key::PublicKey;
use counterfoil_sdk::formats::nonce::base64url;
use counterfoil_sdk::formats::package::zip::Writer;
use counterfoil_sdk::formats::tree::{Hash, leaf_hash, verify_consistency, verify_inclusion};
use counterfoil_sdk::verify::{KeySet, PackageTrust, Promise, verify_package, verify_receipt};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// What went otherwise than a case says.
type Outcome = Result<(), String>;
/// Of a case, and of its text as it stands in the file.
type Runner = fn(&Value, &str) -> Outcome;

const FOLDERS: &[(&str, Runner)] = &[
    ("canonical-json", canonical_json),
    ("commitments", commitment),
    ("capability", capability),
    ("chain", chain),
    ("trees", tree),
    ("checkpoints", checkpoint),
    ("executions", execution),
    ("key-sets", key_set),
    ("receipts", receipt),
    ("malformed-receipts", receipt),
    ("packages", package),
];
// Rules are evaluated by the gateway, export streams are followed by the program, findings are written by the ledger.
const ELSEWHERE: &[&str] = &["export", "make", "policy", "reconciliation"];

fn vectors() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/vectors")
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> Outcome {
    if found == wanted { Ok(()) } else { Err(format!("{what}: {found:?}, not {wanted:?}")) }
}

fn text<'c>(case: &'c Value, name: &str) -> Result<&'c str, String> {
    case[name].as_str().ok_or_else(|| format!("no text `{name}`"))
}

fn said<E: std::fmt::Display>(error: E) -> String {
    error.to_string()
}

fn canonical_json(case: &Value, _: &str) -> Outcome {
    let bytes = match case["base64"].as_str() {
        Some(bytes) => STANDARD.decode(bytes).map_err(said)?,
        None => text(case, "text")?.as_bytes().to_vec(),
    };
    let profile = match text(case, "profile")? {
        "strict" => Profile::Strict,
        "foreign" => Profile::Foreign,
        other => return Err(format!("no profile `{other}`")),
    };
    match parse(&bytes, profile) {
        Ok(value) => equal("canonical form", canonical_text(&value).as_str(), text(case, "canonical")?),
        Err(error) => equal("place", error.path(), text(case, "refused_at")?),
    }
}

fn commitment(case: &Value, _: &str) -> Outcome {
    let seed = OpeningSeed::from_bytes(unhex(text(case, "seed")?)?);
    let name = text(case, "name")?;
    let is_providers = text(case, "salted_from")? == "provider";
    let salt = if is_providers { seed.provider().salt(name) } else { seed.salt(name) };
    equal("salt", salt.to_string().as_str(), text(case, "salt")?)?;
    let Some(value) = case["value"].as_str() else { return Ok(()) };
    if let Some(document) = case.get("document") {
        equal("value", document_value(document).as_str(), value)?;
    }
    let made = if is_providers { seed.provider().commit(name, value) } else { seed.commit(name, value) };
    equal("disclosure", made.to_string().as_str(), text(case, "disclosure")?)?;
    equal("commitment", made.commitment().to_string().as_str(), text(case, "commitment")?)
}

fn capability(case: &Value, _: &str) -> Outcome {
    let claims = &case["claims"];
    let mut judged = 0;
    if let Some(call) = case.get("call_document") {
        let hash =
            call_hash(text(call, "aud")?, text(call, "m")?, text(call, "t")?, &call["a"], call.get("i"));
        let wanted = claims["call"]["h"].as_str().or(case["h"].as_str());
        equal("call.h", Some(hash.as_str()), wanted)?;
        judged += 1;
    }
    if let Some(key) = case["sub_key"].as_str() {
        let aud = claims["aud"].as_str().or(case["aud"].as_str());
        let named = canonical(&(aud, &case["principal"]));
        let sub = base64url(&hmac_sha256(&unhex::<32>(key)?, &named));
        equal("sub", Some(sub.as_str()), claims["sub"].as_str().or(case["sub"].as_str()))?;
        judged += 1;
    }
    if let Some(token) = case["token"].as_str() {
        let made = super::world::sign(&case["header"], claims, &super::world::capability_key());
        equal("token", made.as_str(), token)?;
        judged += 1;
    }
    if judged > 0 { Ok(()) } else { Err("nothing to judge".to_owned()) }
}

fn chain(case: &Value, _: &str) -> Outcome {
    if case.get("statement").is_none() {
        let project =
            text(case, "project")?.parse().map_err(said::<counterfoil_sdk::formats::id::IdError>)?;
        return equal("prev", genesis(project).to_string().as_str(), text(case, "prev")?);
    }
    let envelope = Envelope::parse(case["statement"].to_string().as_bytes()).map_err(said)?;
    equal("payload", envelope.payload_bytes(), text(case, "canonical_payload")?.as_bytes())?;
    equal("digest", envelope.digest().to_string().as_str(), text(case, "digest")?)?;
    let entry: Entry = serde_json::from_value(case["entry"].clone()).map_err(said)?;
    equal("body", entry.body, envelope.digest())?;
    equal("entry", entry.bytes().as_slice(), text(case, "canonical_entry")?.as_bytes())?;
    equal("entry hash", entry.hash().to_string().as_str(), text(case, "entry_hash")?)?;
    let leaf: String = entry.leaf_hash().bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    equal("leaf hash", leaf.as_str(), text(case, "leaf_hash")?)
}

fn tree(case: &Value, _: &str) -> Outcome {
    let read = |value: &Value| serde_json::from_value::<Vec<Hash>>(value.clone()).map_err(said);
    let root: Hash = serde_json::from_value(case["root"].clone()).map_err(said)?;
    let data = case["leaf_data"].as_array().ok_or("no leaves")?;
    let size = data.len() as u64;
    for (index, (data, path)) in (0..).zip(data.iter().zip(case["paths"].as_array().ok_or("no paths")?)) {
        let leaf = leaf_hash(data.as_str().ok_or("no leaf")?.as_bytes());
        verify_inclusion(&leaf, index, size, &read(path)?, &root).map_err(said)?;
        let other = leaf_hash(b"other");
        if verify_inclusion(&other, index, size, &read(path)?, &root).is_ok() {
            return Err("another leaf is in it".to_owned());
        }
    }
    for (old, path) in case["consistency"].as_object().ok_or("no proofs")? {
        let other = leaf_hash(b"other");
        if verify_consistency(
            old.parse().map_err(said::<std::num::ParseIntError>)?,
            size,
            &read(path)?,
            &other,
            &root,
        )
        .is_ok()
        {
            return Err("another tree is a prefix of it".to_owned());
        }
    }
    Ok(())
}

fn checkpoint(case: &Value, _: &str) -> Outcome {
    let key = PublicKey::parse(text(case, "log_key")?).map_err(said)?;
    let found = Checkpoint::verify(text(case, "note")?, &key).ok();
    let found = found.map(|c| serde_json::json!({ "origin": c.origin, "size": c.size, "root": c.root }));
    equal("checkpoint", &found.unwrap_or_default(), &case["checkpoint"])
}

fn execution(case: &Value, _: &str) -> Outcome {
    let form: ReceivedForm = serde_json::from_value(case["form"].clone()).map_err(said)?;
    let read = Submitted::parse(form, text(case, "text")?.as_bytes());
    if case.get("refused_because").is_some() {
        return equal("reads", read.is_ok(), false);
    }
    let read = read.map_err(said)?;
    let key = PublicKey::parse(text(case, "key")?).map_err(said)?;
    equal("holds", Some(read.verify(&key).is_ok()), case["holds"].as_bool())?;
    equal("action", read.action().map(|id| id.to_string()).as_deref(), case["action"].as_str())?;
    equal("decision", read.decision().map(|id| id.to_string()).as_deref(), case["decision"].as_str())?;
    equal("fingerprint", read.fingerprint().to_string().as_str(), text(case, "fingerprint")?)
}

fn key_set(case: &Value, _: &str) -> Outcome {
    equal(
        "accepted",
        Some(KeySet::parse(case["jwks"].to_string().as_bytes()).is_ok()),
        case["accepted"].as_bool(),
    )
}

fn pinned(case: &Value) -> Result<KeySet, String> {
    let text = match case.get("jwks") {
        Some(jwks) => jwks.to_string().into_bytes(),
        None => fs::read(vectors().join("jwks.json")).map_err(said)?,
    };
    KeySet::parse(&text).map_err(said)
}

/// `raw` is the case as it stands in its file: a receipt may be wrong in a way that reading it twice would mend.
fn receipt(case: &Value, raw: &str) -> Outcome {
    #[derive(serde::Deserialize)]
    struct Raw<'r> {
        #[serde(borrow)]
        receipt: Option<&'r serde_json::value::RawValue>,
    }
    let Raw { receipt } = serde_json::from_str(raw).map_err(said)?;
    let bytes = match (receipt, case["receipt_base64"].as_str()) {
        (Some(receipt), None) => receipt.get().as_bytes().to_vec(),
        (None, Some(bytes)) => STANDARD.decode(bytes).map_err(said)?,
        _ => return Err("needs `receipt` or `receipt_base64`".to_owned()),
    };
    let verified = verify_receipt(&bytes, &pinned(case)?);
    let (answer, exit) = match &verified {
        Ok(_) => ("VERIFIED", 0),
        Err(refused) => (refused.answer(), refused.exit_code()),
    };
    let wanted = case["answer"].as_str().unwrap_or("VERIFIED");
    let wanted_exit = match wanted {
        "VERIFIED" => 0,
        "BROKEN" => 40,
        _ => 50,
    };
    equal("answer", (answer, exit), (wanted, wanted_exit))
}

fn package(case: &Value, _: &str) -> Outcome {
    let keys = pinned(case)?;
    let registry = |_: &Digest, provider: &counterfoil_sdk::formats::id::ProviderId| {
        let terms = case["registry"].get(provider.as_str())?;
        let within = terms["sign_within"].as_i64()? * 1000;
        Some(if terms["signs"] == true { Promise::Signs { within } } else { Promise::Nothing })
    };
    let trust =
        PackageTrust { since: case["since"].as_str(), registry: &registry, ..PackageTrust::of(&keys) };
    let report = verify_package(&zipped(&case["files"])?, &trust).map_err(said)?;
    let wanted = (text(case, "answer")?, case["exit"].as_u64().unwrap_or_default());
    equal(&report.verdict.to_string(), (report.verdict.word(), u64::from(report.verdict.exit_code())), wanted)
}

fn zipped(files: &Value) -> Result<Vec<u8>, String> {
    let mut zip = Writer::new(std::io::Cursor::new(Vec::new()), u64::from(u32::MAX));
    for (name, file) in files.as_object().ok_or("no files")? {
        let bytes = match file["base64"].as_str() {
            Some(bytes) => STANDARD.decode(bytes).map_err(said)?,
            None => text(file, "text")?.as_bytes().to_vec(),
        };
        zip = zip.whole(name, &bytes).map_err(said)?.0;
    }
    Ok(zip.finish().map_err(said)?.into_inner())
}

fn unhex<const N: usize>(digits: &str) -> Result<[u8; N], String> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap_or(""));
    let bytes: Vec<u8> =
        pairs.map(|pair| u8::from_str_radix(pair, 16)).collect::<Result<_, _>>().map_err(said)?;
    bytes.try_into().map_err(|_| format!("not {N} bytes of hex"))
}

#[test]
fn every_folder_of_cases_is_known() {
    let entries = fs::read_dir(vectors()).expect("docs/vectors").map(|entry| entry.expect("an entry"));
    let folders = entries.filter(|entry| entry.path().is_dir());
    let found: BTreeSet<String> =
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let known = FOLDERS.iter().map(|(name, _)| *name).chain(ELSEWHERE.iter().copied());
    assert_eq!(found, known.map(str::to_owned).collect());
}

#[test]
fn every_published_case_comes_out_as_it_says_through_the_sdk() {
    let mut failures = Vec::new();
    let mut count = 0;
    for (folder, run) in FOLDERS {
        for entry in fs::read_dir(vectors().join(folder)).expect("a folder of cases") {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|end| end != "json") {
                continue;
            }
            count += 1;
            let raw = fs::read_to_string(&path).expect("a case");
            let case: Value = serde_json::from_str(&raw).expect("JSON");
            if let Err(why) = run(&case, &raw) {
                failures.push(format!("{}: {why}", path.display()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count > 150, "only {count} cases");
}
