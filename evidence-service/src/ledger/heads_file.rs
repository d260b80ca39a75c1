//! The copy of the heads outside the database's volume.
//!
//!     {"v":1,"heads":{"prj_…":{"size":42,"root":"<base64>"}}}
//!
//! Written whole and atomically. It only ever moves forward: what is in the file and larger stays.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use counterfoil_core::id::ProjectId;
use counterfoil_core::tree::Hash;
use serde::{Deserialize, Serialize};

#[derive(Debug, thiserror::Error)]
pub enum HeadsFileError {
    #[error("`{path}`: {cause}")]
    File { path: PathBuf, cause: std::io::Error },
    /// A file that does not read is not an absent one: it may be all that shows a restore.
    #[error("`{path}` does not read as a file of heads: {why}")]
    Unreadable { path: PathBuf, why: String },
}

#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Content {
    v: u8,
    heads: BTreeMap<ProjectId, HeadLine>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct HeadLine {
    size: u64,
    root: String,
}

/// An absent file is a first start.
pub(crate) fn read(path: &Path) -> Result<Vec<(ProjectId, u64, Hash)>, HeadsFileError> {
    let content = content(path)?;
    let unreadable =
        |root: &str| HeadsFileError::Unreadable { path: path.to_owned(), why: format!("root `{root}`") };
    let heads = content.heads.into_iter();
    heads
        .map(|(project, line)| {
            Ok((project, line.size, Hash::parse(&line.root).ok_or_else(|| unreadable(&line.root))?))
        })
        .collect()
}

pub(crate) fn write(path: &Path, seen: &[(ProjectId, u64, Hash)]) -> Result<(), HeadsFileError> {
    let mut content = Content { v: 1, ..content(path)? };
    for (project, size, root) in seen {
        let newer = content.heads.get(project).is_none_or(|line| line.size <= *size);
        if newer {
            content.heads.insert(*project, HeadLine { size: *size, root: root.to_string() });
        }
    }
    let bytes = serde_json::to_vec_pretty(&content).expect("heads have string keys only");
    let failed = |cause| HeadsFileError::File { path: path.to_owned(), cause };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(&bytes).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

fn content(path: &Path) -> Result<Content, HeadsFileError> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map_err(|error| HeadsFileError::Unreadable { path: path.to_owned(), why: error.to_string() }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Content::default()),
        Err(cause) => Err(HeadsFileError::File { path: path.to_owned(), cause }),
    }
}
