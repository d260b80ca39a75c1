//! Pages and scripts that verify in a browser, embedded so that what is served is what was built.
//!
//! Both are written by `evidence-service/web/make.mjs` out of the TypeScript SDK's verifier and lie in the tree as they are, so
//! that building this needs no other language; a test of the SDK says if they are not what their parts give.

/// Verifies the record behind an evidence page, in the page.
pub const VERIFY_SCRIPT: &[u8] = include_bytes!("../web/verify.js");

/// Verifies a dropped package with no network. One file; its digest is printed by `counterfoil verify-page`.
pub const VERIFY_PAGE: &[u8] = include_bytes!("../web/verify.html");
