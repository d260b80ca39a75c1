//! Columns that find rows: computed in core, so that whoever audits from outside computes the same.

pub(crate) use counterfoil_core::projection::Projection;
