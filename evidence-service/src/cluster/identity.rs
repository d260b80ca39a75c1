//! Whom Postgres runs as: ourselves, or for root an unprivileged user.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};

use super::{ClusterError, at};

#[derive(Debug)]
pub(super) enum Identity {
    Ourselves,
    Unprivileged { user: u32, group: u32 },
}

impl Identity {
    pub(super) fn of_this_process() -> Result<Self, ClusterError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self::Ourselves);
        }
        let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let found = ["postgres", "nobody"].iter().find_map(|name| numbers_of(name, &passwd));
        let (user, group) = found.ok_or(ClusterError::NoUser)?;
        Ok(Self::Unprivileged { user, group })
    }

    pub(super) fn unprivileged(&self) -> Option<(u32, u32)> {
        match self {
            Self::Ourselves => None,
            Self::Unprivileged { user, group } => Some((*user, *group)),
        }
    }

    pub(super) fn data_folder(&self, folder: &Path) -> PathBuf {
        match self {
            Self::Ourselves => folder.join("postgres-data"),
            Self::Unprivileged { .. } => {
                // Only a name: two checkouts must not share one cluster.
                let digest = Sha256::digest(folder.as_os_str().as_bytes());
                let mut name = String::from("/var/tmp/counterfoil-");
                for byte in &digest[..8] {
                    let _ = write!(name, "{byte:02x}");
                }
                PathBuf::from(name)
            }
        }
    }

    pub(super) fn own(&self, data: &Path) -> Result<(), ClusterError> {
        std::fs::create_dir_all(data).map_err(at(data))?;
        std::fs::set_permissions(data, std::fs::Permissions::from_mode(0o700)).map_err(at(data))?;
        match self.unprivileged() {
            Some((user, group)) => chown(data, Some(user), Some(group)).map_err(at(data)),
            None => Ok(()),
        }
    }

    pub(super) fn apply<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        match self {
            Self::Ourselves => command,
            Self::Unprivileged { user, group } => command.uid(*user).gid(*group),
        }
    }
}

fn numbers_of(name: &str, passwd: &str) -> Option<(u32, u32)> {
    let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}
