//! Whole packages, in memory.

use crate::{Outcome, equal, read};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use counterfoil_core::digest::Digest;
use counterfoil_core::id::ProviderId;
use counterfoil_core::package::{Promise, Source, Trust, verify};
use counterfoil_core::receipt;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Read};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(rename = "about")]
    _about: String,
    jwks: Value,
    registry: BTreeMap<ProviderId, Terms>,
    since: Option<String>,
    files: BTreeMap<String, File>,
    answer: String,
    exit: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Terms {
    signs: bool,
    sign_within: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum File {
    Text(String),
    Base64(String),
}

struct Files(BTreeMap<String, Vec<u8>>);

impl Source for Files {
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn Read + '_>>> {
        Ok(self.0.get(name).map(|bytes| Box::new(bytes.as_slice()) as Box<dyn Read>))
    }
}

impl File {
    fn bytes(self) -> Result<Vec<u8>, String> {
        match self {
            Self::Text(text) => Ok(text.into_bytes()),
            Self::Base64(text) => STANDARD.decode(text).map_err(|error| error.to_string()),
        }
    }
}

pub fn package(case: &[u8]) -> Outcome {
    let case: Case = read(case)?;
    let jwks = serde_json::to_vec(&case.jwks).map_err(|error| error.to_string())?;
    let keys = receipt::Trust::from_jwks(&jwks).map_err(|error| error.to_string())?;
    let files = case.files.into_iter().map(|(name, file)| Ok((name, file.bytes()?)));
    let files = Files(files.collect::<Result<_, String>>()?);
    let registry = |_: &Digest, provider: &ProviderId| {
        let terms = case.registry.get(provider)?;
        Some(if terms.signs { Promise::Signs { within: terms.sign_within * 1000 } } else { Promise::Nothing })
    };
    let trust = Trust { keys: &keys, since: case.since.as_deref(), held: &[], registry: &registry };

    let report = verify(&files, &trust).map_err(|error| error.to_string())?;

    let said = (report.verdict.word(), report.verdict.exit_code());
    equal(&report.verdict.to_string(), said, (case.answer.as_str(), case.exit))
}
