//! Steps 2 and 3: who signed, and whether both sides speak of the same call.

use super::{Decided, Found, Matter, Standing, Stated};
use crate::statement::FindingCode;

/// Step 2: the statements that the decision's provider signed, in order; a finding for each of the others, which
/// count as if they had not been made.
pub(super) fn signed_by_the_provider<'m>(
    decided: &Decided,
    statements: Vec<&'m Stated>,
) -> (Vec<&'m Stated>, Vec<Found>) {
    let (mut good, mut findings) = (Vec::new(), Vec::new());
    for stated in statements {
        match objection(decided, stated) {
            None => good.push(stated),
            Some(code) => findings.push(about(decided, stated, code)),
        }
    }
    (good, findings)
}

fn objection(decided: &Decided, stated: &Stated) -> Option<FindingCode> {
    match &stated.standing {
        Standing::Fails => Some(FindingCode::InvalidVendorSignature),
        Standing::Ended => Some(FindingCode::RevokedKey),
        Standing::Holds(_) => stated.is_foreign_to(decided).then_some(FindingCode::WrongSigner),
    }
}

/// The second half of step 3: arguments, result, charge. What one side does not give is not compared.
pub(super) fn differences(matter: &Matter, stated: &Stated) -> Vec<Found> {
    let decided = &matter.decided;
    let other_arguments = differ(decided.args.as_ref(), stated.args.as_ref());
    let other_tool = stated.tool.is_some() && stated.tool != decided.tool;
    let observed_result = matter.observed.as_ref().and_then(|observed| observed.result.as_ref());
    let over = matches!((decided.quoted, stated.charged), (Some(quoted), Some(charged)) if charged > quoted);
    let mut findings = Vec::new();
    if other_arguments || other_tool {
        findings.push(about(decided, stated, FindingCode::ArgumentsDiffer));
    }
    if differ(observed_result, stated.result.as_ref()) {
        let mut found = about(decided, stated, FindingCode::ResultDiffers);
        found.since = matter.observed.as_ref().map_or(found.since, |seen| seen.entered_at.max(found.since));
        findings.push(found);
    }
    if over {
        findings.push(about(decided, stated, FindingCode::ChargeMismatch));
    }
    findings
}

fn differ<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one != other)
}

/// A finding about a statement, of the moment of its entry.
pub(super) fn about(decided: &Decided, stated: &Stated, code: FindingCode) -> Found {
    Found {
        code,
        action: Some(decided.action),
        statement: stated.digest,
        seq: stated.seq,
        since: stated.entered_at,
    }
}
