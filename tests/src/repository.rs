//! Where things are in this repository.

use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().expect("this package lies in the repository's folder").to_owned()
}

/// A program that the workspace builds. `scripts/test` builds them before the tests.
pub fn program(name: &str) -> anyhow::Result<PathBuf> {
    // Tests lie in target/<profile>/deps, programs in target/<profile>.
    let test = std::env::current_exe()?;
    let folder = test.parent().and_then(Path::parent).context("a test program lies in deps")?;
    let program = folder.join(name);
    if !program.is_file() {
        bail!("`{}` is not built; run `cargo build --workspace` first", program.display());
    }
    Ok(program)
}

/// Every file that git tracks, from the root.
pub fn tracked() -> anyhow::Result<Vec<PathBuf>> {
    let listed = Command::new("git").arg("-C").arg(root()).args(["ls-files", "-z"]).output()?;
    if !listed.status.success() {
        bail!("git ls-files: {}", String::from_utf8_lossy(&listed.stderr));
    }
    let names = String::from_utf8(listed.stdout)?;
    let files = names.split('\0').filter(|name| !name.is_empty());
    // A file that was moved and not committed yet is listed and not there.
    Ok(files.map(PathBuf::from).filter(|file| root().join(file).is_file()).collect())
}
