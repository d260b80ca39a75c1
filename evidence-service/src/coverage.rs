//! Coverage as an operator declares it: which providers can be reached around the gateway (P10).
//!
//!     PUT /v1/coverage
//!     {"providers":[{"provider":"notes","share":"all"}],"reason":null}
//!
//! Promised: a declaration is an entry, and saying the same again is not another one. What is declared says so: nobody can
//! declare that something was measured or probed.
//! Not promised: that it is true. The page shows what was measured beside it.

mod claim;
pub(crate) mod routes;
mod store;

#[cfg(test)]
pub(crate) use store::ALL;
