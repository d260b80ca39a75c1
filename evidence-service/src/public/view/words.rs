//! Codes in words.

use counterfoil_core::statement::FindingCode;

/// P10: said where the evidence is, not in a manual.
pub(in crate::public) const CANNOT_PROVE: &[&str] = &[
    "That nothing went around the gateway. A call to a provider that demands no capability leaves no trace here; the table above says which providers demand one, and whether that was declared, measured or probed.",
    "What anybody meant. Rules judge what is asked, not why.",
    "That nobody read the arguments. They pass through the gateway in clear; this record keeps commitments to them.",
    "What becomes of a result. It reaches an agent that nobody contains.",
    "Who acted. A key names an agent, not a model and not a person.",
    "That a provider did what it signed. It can be held to its signature; its servers are its own.",
    "Where this server runs with `counterfoil dev`, anything against another program of the same user: it can act as the operator and answer what is held.",
    "That a clock was right. Times are what their signers' clocks said, held within bounds by the ledger's.",
    "That everybody is shown the same record. No witness has cosigned it: compare the receipts and checkpoints that you and others kept.",
];

/// What a finding means, for somebody who reads the word for the first time.
pub(in crate::public) fn meaning(code: FindingCode) -> &'static str {
    match code {
        FindingCode::ExecutionWithoutDecision => "A statement about an action that was never decided here.",
        FindingCode::InvalidVendorSignature => "A statement whose signature does not hold.",
        FindingCode::RevokedKey => "A statement under a key that no longer counted.",
        FindingCode::WrongSigner => "A statement under the key of another provider than the call went to.",
        FindingCode::DuplicateExecution => "The provider signed the same outcome more than once.",
        FindingCode::ContradictingExecutions => "The provider signed two outcomes that cannot both be true.",
        FindingCode::ArgumentsDiffer => "The provider ran other arguments than were decided.",
        FindingCode::ResultDiffers => "The provider signed another result than the gateway saw.",
        FindingCode::ChargeMismatch => "The provider charged more than was quoted.",
        FindingCode::ExecutedAgainstVerdict => "The call ran although the verdict was no.",
        FindingCode::StatementContradictsObservation => "The provider signed otherwise than the gateway saw.",
        FindingCode::OutcomeUnknown => "The call may have gone out, and nobody has said what became of it.",
        FindingCode::MissingExecution => "The provider owes a signed statement and has not given it in time.",
        FindingCode::LateExecution => "The provider's statement came after its time.",
        FindingCode::BrokenChain => "The stored record is not what was signed and numbered.",
        FindingCode::ToolChanged => "A tool's definition is another than the one that was reviewed.",
        FindingCode::SecretEcho => "A provider sent back a secret that was handed to it.",
        FindingCode::Backdated => "A statement carries a time that its place in the record rules out.",
        FindingCode::SeenDiffers => "A provider holds a checkpoint that this record does not lead to.",
        FindingCode::CatalogSignature => "A list of tools whose signature does not hold.",
        FindingCode::UnknownPrevious => "A caller names an action before this one that is not here.",
    }
}

/// Where the comparison of a call stands. What the comparison itself does not say is not made up.
pub(in crate::public) fn status(code: Option<&str>) -> &'static str {
    match code {
        None => "not compared yet",
        Some("matched") => "matched",
        Some("late") => "matched; the statement came late",
        Some("unsigned") => "unsigned: this provider owes no statement",
        Some("waiting") => "waiting for the provider's statement",
        Some("missing") => "the provider's statement is missing",
        Some("outcome_unknown") => "nobody said what became of it",
        Some("contradicted") => "the provider's statement contradicts the gateway",
        Some("against_verdict") => "it ran against its verdict",
        Some(_) => "in a state that this page does not know",
    }
}

/// Whether a status is a disagreement.
pub(in crate::public) fn is_bad(code: &str) -> bool {
    matches!(code, "missing" | "outcome_unknown" | "contradicted" | "against_verdict")
}

/// Under which account calls are counted.
pub(in crate::public) fn account(code: &str) -> &'static str {
    match code {
        "governed" => "under enforced rules",
        "rehearsal" => "in rehearsal, where verdicts were advisory",
        "break_glass" => "under break-glass",
        _ => "otherwise",
    }
}
