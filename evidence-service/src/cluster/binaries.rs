//! Finds the Postgres programs of this machine.
//!
//! Looked at in this order, the first that holds a Postgres of 15 to 18 wins: `PG_BIN`, what `pg_config --bindir`
//! says, the usual folders (newest first), then the folder the caller names. Nothing is downloaded.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::ClusterError;

/// A folder with `initdb`, `postgres` and `pg_ctl` of one supported version.
#[derive(Clone, Debug)]
pub struct Binaries {
    folder: PathBuf,
    major: u32,
}

const SUPPORTED: std::ops::RangeInclusive<u32> = 15..=18;

impl Binaries {
    /// `unpacked` is where a packaged build may lie (`.counterfoil/postgres`), its `bin` folder or the one above.
    pub fn find(unpacked: Option<&Path>) -> Result<Self, ClusterError> {
        if let Some(named) = std::env::var_os("PG_BIN") {
            // Named by a person: if it does not work, say so instead of silently using another.
            return Self::at(Path::new(&named)).ok_or(ClusterError::NoBinaries);
        }
        let candidates =
            from_pg_config().into_iter().chain(usual_folders()).chain(unpacked_folders(unpacked));
        candidates.into_iter().find_map(|folder| Self::at(&folder)).ok_or(ClusterError::NoBinaries)
    }

    /// The major version, 15 to 18.
    pub fn major(&self) -> u32 {
        self.major
    }

    /// The folder they lie in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn command(&self, name: &str) -> Command {
        Command::new(self.program(name))
    }

    fn at(folder: &Path) -> Option<Self> {
        let all_there = ["initdb", "postgres", "pg_ctl"].iter().all(|name| folder.join(name).is_file());
        if !all_there {
            return None;
        }
        let output = Command::new(folder.join("postgres")).arg("--version").output().ok()?;
        let major = major_version(&String::from_utf8_lossy(&output.stdout))?;
        SUPPORTED.contains(&major).then(|| Self { folder: folder.to_owned(), major })
    }
}

fn from_pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
}

fn usual_folders() -> Vec<PathBuf> {
    let versions = || SUPPORTED.rev();
    let debian = versions().map(|v| PathBuf::from(format!("/usr/lib/postgresql/{v}/bin")));
    let red_hat = versions().map(|v| PathBuf::from(format!("/usr/pgsql-{v}/bin")));
    let homebrew = versions().flat_map(|v| {
        ["/opt/homebrew/opt", "/usr/local/opt"]
            .map(|root| PathBuf::from(format!("{root}/postgresql@{v}/bin")))
    });
    let plain = ["/usr/local/pgsql/bin", "/usr/local/bin", "/usr/bin"].map(PathBuf::from);
    debian.chain(red_hat).chain(homebrew).chain(plain).collect()
}

fn unpacked_folders(unpacked: Option<&Path>) -> Vec<PathBuf> {
    unpacked.map(|folder| vec![folder.join("bin"), folder.to_owned()]).unwrap_or_default()
}

/// `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)` → 15.
fn major_version(text: &str) -> Option<u32> {
    let version = text.split_whitespace().nth(2)?;
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::major_version;

    #[test]
    fn a_version_line_is_read() {
        assert_eq!(major_version("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"), Some(15));
        assert_eq!(major_version("postgres (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(major_version("something else"), None);
    }
}
