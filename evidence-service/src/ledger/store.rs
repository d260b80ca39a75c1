//! SQL of the ledger: the head row, what is read under its lock, and the rows of one commit.

pub(crate) mod audit;
mod project;
mod read;
mod write;

pub(crate) use project::{BEFORE_THE_FIRST, all_projects, insert_project, projects_after, read_project};
pub(crate) use read::{
    Row as EntryRow, checkpoint_root, digest, hash_at, key_states, lock, lock_and_read, number, public_keys,
    read_head, running, stored, time, unreadable,
};
pub(crate) use write::{insert_head, insert_openings, signed, write};

#[cfg(test)]
pub(crate) const ALL: &[&[(&str, crate::database::Sql)]] = &[audit::ALL, project::ALL, read::ALL, write::ALL];
