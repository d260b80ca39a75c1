//! SQL of the comparison: the work list of open calls, and what was compared and found.

pub(super) mod audit;
pub(super) mod calls;
pub(super) mod counts;
pub(super) mod entries;
pub(super) mod findings;
pub(super) mod matters;
pub(super) mod position;

#[cfg(test)]
pub(crate) const ALL: &[&[(&str, crate::database::Sql)]] =
    &[audit::ALL, calls::ALL, counts::ALL, entries::ALL, findings::ALL, matters::ALL, position::ALL];
