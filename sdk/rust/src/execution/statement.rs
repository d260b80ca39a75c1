//! Building and signing, in both forms.

use super::signer::{SignError, Signer};
use counterfoil_core::commitment::{ProviderSeed, document_value};
use counterfoil_core::digest::Digest;
use counterfoil_core::envelope::{Alg, Envelope, SignatureBlock, SignatureBytes};
use counterfoil_core::id::{ActionId, ProjectId, ProviderId, ToolName};
use counterfoil_core::json::canonical;
use counterfoil_core::nonce::Nonce16;
use counterfoil_core::statement::{
    ErrorCode, Execution, ExecutionType, Outcome, SeenCheckpoint, VendorExecution, VendorSignature,
};
use counterfoil_core::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

/// What an execution says. Members that are commitments in it stand here in clear.
#[derive(Clone, Debug)]
pub struct Facts<'f> {
    pub project: ProjectId,
    pub provider: ProviderId,
    pub tool: ToolName,
    /// `txn` of the capability.
    pub action: ActionId,
    /// Digest of the decision's envelope, `dec` of the capability.
    pub decision: Digest,
    /// `jti` of the capability; None where none is demanded.
    pub capability: Option<Nonce16>,
    /// The provider seed, `os` of the capability.
    pub seed: Nonce16,
    /// `params.arguments` as they arrived on the wire; absent ones are {}.
    pub arguments: &'f Value,
    pub outcome: Outcome,
    /// What [`super::bound_result`] says of the result; None where there is none, or none that can be compared.
    pub result: Option<String>,
    pub error_code: Option<ErrorCode>,
    /// None where nothing was started.
    pub started_at: Option<Timestamp>,
    pub executed_at: Timestamp,
    /// The largest checkpoint that the signer holds: a claim, not a proof.
    pub seen: Option<SeenCheckpoint>,
    pub nonce: Nonce16,
}

/// A signed `execution/v1`. [`Envelope::bytes`] is what is handed in.
pub async fn execution_statement(facts: &Facts<'_>, signer: &dyn Signer) -> Result<Envelope, SignError> {
    let seed = ProviderSeed::from_bytes(*facts.seed.bytes());
    let said = Execution {
        typ: ExecutionType::V1,
        iss: facts.provider.clone(),
        project: facts.project,
        action: facts.action,
        provider: facts.provider.clone(),
        tool: facts.tool.clone(),
        decision: facts.decision,
        capability: facts.capability,
        args: Some(seed.commit("args", &document_value(facts.arguments)).commitment()),
        outcome: facts.outcome,
        result: facts.result.as_ref().map(|value| seed.commit("result", value).commitment()),
        error_code: facts.error_code.clone(),
        charged: None,
        started_at: facts.started_at,
        executed_at: facts.executed_at,
        nonce: facts.nonce,
        seen: facts.seen,
    };
    let not = |why: String| SignError::NotAStatement(why);
    let sig = SignatureBytes(signer.sign(&canonical(&said)).await?);
    let kid =
        signer.kid().parse().map_err(|error: counterfoil_core::key::KeyError| not(error.to_string()))?;
    let whole = Whole { payload: &said, signature: SignatureBlock { alg: Alg::Ed25519, kid, sig } };
    // Read back as a ledger will read it.
    Envelope::parse(&canonical(&whole)).map_err(|error| not(error.to_string()))
}

#[derive(Serialize)]
struct Whole<'w> {
    payload: &'w Execution,
    signature: SignatureBlock,
}

/// The vendor wire's form: exactly six fields are signed, with the vendor's own key id as alias.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct SignedSixFields {
    #[serde(flatten)]
    pub fields: VendorExecution,
    pub signature: VendorSignature,
}

/// Signs the six fields. `decision_id` is made by [`decision_id`], so it binds the content.
pub async fn six_field_statement(
    fields: VendorExecution,
    signer: &dyn Signer,
) -> Result<SignedSixFields, SignError> {
    let value = SignatureBytes(signer.sign(&canonical(&fields)).await?);
    let signature = VendorSignature { kid: signer.kid().to_owned(), alg: Alg::Ed25519, value };
    Ok(SignedSixFields { fields, signature })
}

/// `dec_<hex of the decision envelope's digest>`
#[must_use]
pub fn decision_id(decision: &Digest) -> String {
    VendorExecution::decision_id(decision)
}
