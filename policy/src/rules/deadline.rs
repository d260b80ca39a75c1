//! The deadline of a permit: one literal instant in UTC, in one of two spellings.

use super::RuleFault;
use counterfoil_core::time::Timestamp;

/// `2027-01-01T00:00:00Z` or `2027-01-01T00:00:00.000Z`. Cedar knows more spellings (a bare date, offsets); a person
/// reading a rule should need only one.
pub(super) fn parse(text: &str) -> Result<Timestamp, RuleFault> {
    let refuse = || RuleFault::DeadlineText(text.to_owned());
    let whole_second = text.strip_suffix('Z').filter(|t| !t.contains('.'));
    match whole_second {
        Some(second) => Timestamp::parse(&format!("{second}.000Z")),
        None => Timestamp::parse(text),
    }
    .map_err(|_| refuse())
}
