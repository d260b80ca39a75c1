//! Three verifiers that share no line of code must give one answer to every receipt, also to one that nobody thought of.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use counterfoil_core::receipt::{RefusalClass, Trust, verify};
use counterfoil_tests::foreign::Language;
use counterfoil_tests::repository::root;
use serde_json::{Value, json};

/// What is put in the place of a value.
const VALUES: [&str; 16] = [
    "null",
    "true",
    "-1",
    "0",
    "-0",
    "1.0",
    "1e2",
    "\"\"",
    "\"x\"",
    "[]",
    "{}",
    "9007199254740992",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\"\u{2028}\"",
    "\"2026-11-30T11:20:00.123Z\"",
];
/// What is put in the place of a character.
const CHARACTERS: [&str; 20] =
    ["0", "1", "9", "a", "F", "Z", "_", "-", "+", "/", "=", "{", "]", ",", ":", "\"", "\\", " ", "\n", "é"];
const CHANGES: usize = 3000;

/// Numbers that look random and are the same in every run (Knuth's MMIX generator).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }
}

/// Every good receipt of docs/vectors, as one line of text.
fn good() -> Vec<String> {
    let folder = root().join("docs/vectors/receipts");
    let files = std::fs::read_dir(folder).expect("cases").map(|file| file.expect("a file").path());
    let mut files: Vec<_> = files.filter(|file| file.extension() == Some("json".as_ref())).collect();
    files.sort();
    let receipt = |file: &std::path::PathBuf| {
        let case: Value = serde_json::from_slice(&std::fs::read(file).expect("a case")).expect("JSON");
        case["receipt"].to_string()
    };
    files.iter().map(receipt).collect()
}

/// One change: a character, a few characters fewer, or another value behind a name.
fn changed(text: &str, chance: &mut Chance) -> String {
    let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
    let nth = chance.below(places.len() - 4);
    let at = places[nth];
    match chance.below(3) {
        0 => format!(
            "{}{}{}",
            &text[..at],
            CHARACTERS[chance.below(CHARACTERS.len())],
            &text[places[nth + 1]..]
        ),
        1 => format!("{}{}", &text[..at], &text[places[nth + 1 + chance.below(3)]..]),
        _ => {
            let values: Vec<(usize, usize)> = values(text);
            let (from, to) = values[chance.below(values.len())];
            format!("{}{}{}", &text[..from], VALUES[chance.below(VALUES.len())], &text[to..])
        }
    }
}

/// Where simple values stand behind a name.
fn values(text: &str) -> Vec<(usize, usize)> {
    let starts = text.match_indices("\":").map(|(place, _)| place + 2);
    let simple = starts.filter(|start| !text[*start..].starts_with(['{', '[']));
    simple
        .map(|start| {
            let rest = &text[start..];
            let end = match rest.strip_prefix('"') {
                Some(inside) => inside.find('"').map_or(rest.len(), |quote| quote + 2),
                None => rest.find([',', '}']).unwrap_or(rest.len()),
            };
            (start, start + end)
        })
        .collect()
}

// Upholds P7.
#[test]
fn three_verifiers_agree_on_receipts_that_were_changed_at_random() {
    let jwks = std::fs::read(root().join("docs/vectors/jwks.json")).expect("a key set");
    let trust = Trust::from_jwks(&jwks).expect("good keys");
    let (good, mut chance) = (good(), Chance(20_261_130));
    let receipts: Vec<String> =
        (0..CHANGES).map(|_| changed(&good[chance.below(good.len())], &mut chance)).collect();
    let ours: Vec<&str> = receipts
        .iter()
        .map(|receipt| match verify(receipt.as_bytes(), &trust) {
            Ok(_) => "VERIFIED",
            Err(refusal) if refusal.class() == RefusalClass::Unpinned => "UNPINNED",
            Err(_) => "BROKEN",
        })
        .collect();

    let encoded: Vec<String> = receipts.iter().map(|receipt| STANDARD.encode(receipt)).collect();
    let jwks: Value = serde_json::from_slice(&jwks).expect("JSON");
    for language in Language::BOTH {
        let said =
            language.run("answers", &json!({ "receipts": encoded, "jwks": jwks })).expect("it answers");
        let theirs = said["answers"].as_array().expect("a list");
        assert_eq!(theirs.len(), ours.len());
        for ((receipt, ours), theirs) in receipts.iter().zip(&ours).zip(theirs) {
            assert_eq!(theirs, ours, "{language:?} on {receipt}");
        }
    }
    for answer in ["VERIFIED", "UNPINNED", "BROKEN"] {
        assert!(ours.contains(&answer), "no change led to {answer}");
    }
}
