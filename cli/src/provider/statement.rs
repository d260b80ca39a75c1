//! What this provider says it did: `execution/v1`, signed with a key of its own, and the acceptances that come back.
//!
//! The gateway takes the statement out of the result before the agent sees it. What is committed to is computed here, from
//! the wire: neither side takes the other's word. Format: docs/formats/execution.md.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use counterfoil_core::commitment::{ProviderSeed, document_value};
use counterfoil_core::envelope::Signed;
use counterfoil_core::id::{ProjectId, ProviderId};
use counterfoil_core::json::{MAX_BOUND, canonical};
use counterfoil_core::key::{self, SigningKey};
use counterfoil_core::nonce::{base64url, unbase64url_exact};
use counterfoil_core::statement::{ErrorCode, Execution, ExecutionType, Outcome};
use counterfoil_core::time::Timestamp;
use counterfoil_jwks::file::{read_private, write_new};
use serde_json::Value;
use zeroize::Zeroizing;

use super::guard::Spent;
use crate::{chance, clock};

pub const EXECUTION: &str = "dev.counterfoil/execution";
const ACCEPTED: &str = "dev.counterfoil/accepted";

/// Whose statements, and where acceptances are kept.
pub struct Witness {
    key: SigningKey<key::Execution>,
    project: ProjectId,
    provider: ProviderId,
    accepted: File,
}

/// One call that is being carried out.
pub struct Call<'c> {
    pub spent: &'c Spent,
    pub tool: &'c str,
    pub arguments: &'c Value,
    pub started_at: Timestamp,
}

impl Witness {
    pub fn new(
        key: SigningKey<key::Execution>,
        project: ProjectId,
        provider: ProviderId,
        accepted: &Path,
    ) -> io::Result<Self> {
        let accepted = OpenOptions::new().create(true).append(true).open(accepted)?;
        Ok(Self { key, project, provider, accepted })
    }

    /// The signed statement about a call that came to its end.
    pub fn state(&self, call: &Call<'_>, result: &Value) -> anyhow::Result<Value> {
        let failed = result["isError"] == true;
        let seed = ProviderSeed::from_bytes(*call.spent.seed.bytes());
        let said = Execution {
            typ: ExecutionType::V1,
            iss: self.provider.clone(),
            project: self.project,
            action: call.spent.action,
            provider: self.provider.clone(),
            tool: call.tool.parse()?,
            decision: call.spent.decision,
            capability: Some(call.spent.jti),
            args: Some(seed.commit("args", &document_value(call.arguments)).commitment()),
            outcome: if failed { Outcome::Failed } else { Outcome::Executed },
            result: comparable(result).map(|value| seed.commit("result", &value).commitment()),
            error_code: failed.then(|| "tool_error".parse::<ErrorCode>()).transpose()?,
            charged: None,
            started_at: Some(call.started_at),
            executed_at: clock::now(),
            nonce: chance::nonce(),
            seen: None,
        };
        Ok(serde_json::from_slice(Signed::sign(said, &self.key).bytes())?)
    }

    /// Writes down the acceptances that came with a call, one receipt a line.
    pub fn keep_accepted(&mut self, params: &Value) -> io::Result<()> {
        let Some(receipts) = params["_meta"][ACCEPTED].as_array() else { return Ok(()) };
        receipts.iter().try_for_each(|receipt| self.accepted.write_all(format!("{receipt}\n").as_bytes()))
    }
}

/// What the gateway commits to as well; none where it is larger than can be bound.
fn comparable(result: &Value) -> Option<String> {
    let mut bound = result.clone();
    if let Some(members) = bound.as_object_mut() {
        members.retain(|name, _| name != "_meta" && name != "resultType");
    }
    (canonical(&bound).len() <= MAX_BOUND).then(|| document_value(&bound))
}

/// A fresh key in a new file that its owner alone reads; a file that is there stays as it is.
pub fn mint_key(path: &Path) -> anyhow::Result<()> {
    if !path.exists() {
        let seed = chance::seed();
        write_new(path, format!("{}\n", base64url(seed.as_slice())).as_bytes())?;
    }
    Ok(())
}

/// 32 bytes as base64url, one line.
pub fn read_key(path: &Path) -> anyhow::Result<SigningKey<key::Execution>> {
    let text = read_private(path)?;
    let seed = std::str::from_utf8(&text).ok().and_then(|text| unbase64url_exact::<32>(text.trim()));
    let seed = seed.map(Zeroizing::new);
    let seed = seed.with_context(|| format!("`{}` holds no key of 32 bytes", path.display()))?;
    Ok(SigningKey::from_seed(&seed))
}

#[cfg(test)]
mod tests;
