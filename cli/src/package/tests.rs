//! P7: what the program answers about every published package, zipped as the service zips it.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use counterfoil_core::package::zip::Writer;
use serde_json::Value;
use tempfile::TempDir;

use super::*;

/// Cases that take what the holder knows of providers' promises, which a package without rules does not tell.
const NEED_A_REGISTRY: [&str; 2] = ["execution_missing_and_omitted", "observation_before_its_decision"];

struct Case {
    name: String,
    case: Value,
    folder: TempDir,
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/vectors/packages");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: PathBuf| Case {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        case: serde_json::from_slice(&fs::read(&path).unwrap()).unwrap(),
        folder: TempDir::new().unwrap(),
    };
    files.filter(|path| path.extension().is_some_and(|end| end == "json")).map(read).collect()
}

impl Case {
    fn zip(&self) -> PathBuf {
        let mut writer = Writer::new(Cursor::new(Vec::new()), 1 << 24);
        for (name, file) in self.case["files"].as_object().unwrap() {
            let bytes = match file["base64"].as_str() {
                Some(text) => STANDARD.decode(text).unwrap(),
                None => file["text"].as_str().unwrap().as_bytes().to_vec(),
            };
            (writer, _) = writer.whole(name, &bytes).unwrap();
        }
        let path = self.folder.path().join("package.zip");
        fs::write(&path, writer.finish().unwrap().into_inner()).unwrap();
        path
    }

    fn answer(&self) -> Outcome {
        let trust = self.folder.path().join("trust.json");
        fs::write(&trust, self.case["jwks"].to_string()).unwrap();
        let mut brought = Brought::default();
        if let Some(note) = self.case["since"].as_str() {
            let path = self.folder.path().join("since");
            fs::write(&path, note).unwrap();
            brought.since = Some(path);
        }
        verify(&self.zip(), &pinned(&trust, &[]).unwrap(), &brought).unwrap()
    }
}

#[test]
fn every_published_package_is_answered_as_it_says() {
    let cases = cases();
    assert!(cases.len() > 30, "{}", cases.len());
    for case in &cases {
        let expected = match NEED_A_REGISTRY.contains(&case.name.as_str()) {
            true => 10,
            false => case.case["exit"].as_u64().unwrap(),
        };
        let outcome = case.answer();
        assert_eq!(u64::from(outcome.exit_code()), expected, "{}: {}", case.name, outcome.lines());
        let json: Value = serde_json::from_str(&outcome.json()).unwrap();
        assert_eq!(json["exit"], expected, "{}", case.name);
        assert!(outcome.lines().starts_with(json["outcome"].as_str().unwrap()), "{}", case.name);
    }
}

/// P3, P10: who vouches for a provider's key is said for each; a key counts as the provider's own only if it was
/// handed over by the provider.
#[test]
fn it_says_who_vouches_for_each_providers_key() {
    let cases = cases();
    let honest = cases.iter().find(|case| case.name == "honest").unwrap();
    let mut set = honest.case["jwks"].clone();
    let keys = set["keys"].as_array_mut().unwrap();
    let own = keys.iter().position(|key| key["purpose"] == "execution").map(|place| keys.remove(place));
    let file = |name: &str, document: &Value| {
        let path = honest.folder.path().join(name);
        fs::write(&path, document.to_string()).unwrap();
        path
    };
    let trust = file("ours.json", &set);
    let own = own.unwrap();
    let theirs = file("theirs.json", &serde_json::json!({ "kty": "OKP", "crv": "Ed25519", "x": own["x"] }));
    let pins = |providers: &[PathBuf]| {
        let keys = pinned(&trust, providers).unwrap();
        verify(&honest.zip(), &keys, &Brought::default()).unwrap().lines()
    };

    assert!(pins(&[]).contains("pinned by the log operator only"), "{}", pins(&[]));
    assert!(pins(&[theirs]).contains("pinned by you"));
}

#[test]
fn what_is_no_zip_or_was_cut_off_is_broken() {
    let cases = cases();
    let honest = cases.iter().find(|case| case.name == "honest").unwrap();
    let trust = honest.folder.path().join("trust.json");
    fs::write(&trust, honest.case["jwks"].to_string()).unwrap();
    let keys = pinned(&trust, &[]).unwrap();
    let path = honest.zip();
    let whole = fs::read(&path).unwrap();
    for bytes in [&whole[..whole.len() - 1], &whole[..40], b"PK", b"no zip at all, and longer than a header"]
    {
        fs::write(&path, bytes).unwrap();
        assert_eq!(verify(&path, &keys, &Brought::default()).unwrap().exit_code(), 40);
    }
    let mut flipped = whole.clone();
    flipped[60] ^= 1;
    fs::write(&path, flipped).unwrap();
    assert_eq!(verify(&path, &keys, &Brought::default()).unwrap().exit_code(), 40);
    fs::write(&path, whole).unwrap();
    assert_eq!(verify(&path, &keys, &Brought::default()).unwrap().exit_code(), 10);
}

/// A file of the holder's that does not read is a mistake of usage, and says nothing about the package.
#[test]
fn what_the_holder_brings_must_read() {
    let cases = cases();
    let honest = cases.iter().find(|case| case.name == "honest").unwrap();
    let trust = honest.folder.path().join("trust.json");
    fs::write(&trust, honest.case["jwks"].to_string()).unwrap();
    let keys = pinned(&trust, &[]).unwrap();
    let away = honest.folder.path().join("away");
    let brought = [
        Brought { since: Some(away.clone()), ..Brought::default() },
        Brought { held: vec![away.clone()], ..Brought::default() },
        Brought { held: vec![trust.clone()], ..Brought::default() },
        Brought { disclosure_key: Some(trust.clone()), ..Brought::default() },
    ];
    for brought in brought {
        assert!(verify(&honest.zip(), &keys, &brought).is_err(), "{brought:?}");
    }
    assert!(pinned(&away, &[]).is_err() && pinned(&trust, &[away]).is_err());
}
