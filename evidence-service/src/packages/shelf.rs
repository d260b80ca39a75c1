//! Where packages lie: one folder a project, one file a package, for the service's user alone.
//!
//!     packages/prj_…/pkg_….zip
//!     packages/prj_…/pkg_….<worker>.part      while it is written
//!
//! Several services share one folder, or each hands out only what it made itself. An object store would answer the
//! same four questions.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use counterfoil_core::id::{PackageId, ProjectId};
use uuid::Uuid;

pub(super) struct Shelf {
    folder: PathBuf,
}

/// A file that is being written. Dropping it removes it.
pub(super) struct Draft {
    path: PathBuf,
    kept_as: PathBuf,
}

impl Shelf {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn draft(&self, project: ProjectId, id: PackageId, worker: Uuid) -> io::Result<(Draft, File)> {
        let folder = self.of(project);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let path = folder.join(format!("{id}.{}.part", worker.simple()));
        // What an earlier attempt of ours left is begun again.
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        Ok((Draft { path, kept_as: folder.join(format!("{id}.zip")) }, file))
    }

    /// `None` where another service made it, in a folder that is not this one.
    pub(super) fn open(&self, project: ProjectId, id: PackageId) -> io::Result<Option<(File, u64)>> {
        let found = File::open(self.of(project).join(format!("{id}.zip")));
        match found {
            Ok(file) => {
                let length = file.metadata()?.len();
                Ok(Some((file, length)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes every file that belongs to none of these packages.
    pub(super) fn clear(&self, project: ProjectId, keep: &HashSet<PackageId>) -> io::Result<()> {
        let entries = match fs::read_dir(self.of(project)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let path = entry?.path();
            let kept = id_of(&path).is_some_and(|id| keep.contains(&id));
            if !kept {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    fn of(&self, project: ProjectId) -> PathBuf {
        self.folder.join(project.to_string())
    }
}

impl Draft {
    /// Gives it its name once every byte of it is on the disk.
    pub(super) fn keep(self, file: &File) -> io::Result<()> {
        file.sync_all()?;
        fs::rename(&self.path, &self.kept_as)?;
        let folder = self.kept_as.parent().map_or_else(|| File::open("."), File::open)?;
        folder.sync_all()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Renamed already, or the next sweep removes it.
        let _ = fs::remove_file(&self.path);
    }
}

fn id_of(path: &Path) -> Option<PackageId> {
    path.file_name()?.to_str()?.split('.').next()?.parse().ok()
}
