//! The database schema: numbered files in `sql/`, embedded, applied forward only.
//!
//! Promised: a file that was released never changes (refinery keeps a checksum of each). They run as the role
//! `counterfoil_migrator`, which owns what they make; the roles of [`ROLES`] must exist before.
//! Not promised: a way back. A mistake is repaired by the next number.

/// Roles the files grant to. None is a superuser, none steps around row-level security.
///
/// `migrator` owns; `app` is the service; `reader` serves public pages; `sweeper` empties bodies under a tombstone;
/// `auditor` recomputes everything and changes nothing.
pub const ROLES: [&str; 5] = [
    "counterfoil_migrator",
    "counterfoil_app",
    "counterfoil_reader",
    "counterfoil_sweeper",
    "counterfoil_auditor",
];

/// Tables outside tenancy: asked before a project is known, through functions that return one row.
pub const DIRECTORY: [&str; 4] = ["slots", "api_key_digests", "service_tokens", "operators"];

mod embedded {
    refinery::embed_migrations!("sql");
}

/// The runner of all embedded migrations. The caller holds an advisory lock: refinery takes none.
pub fn runner() -> refinery::Runner {
    embedded::migrations::runner()
}
