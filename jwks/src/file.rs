//! Files that hold secrets: read only when nobody else may, written whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use zeroize::Zeroizing;

/// A store of every key a service ever had is a few kilobytes; more is not one of ours.
const MOST_BYTES: u64 = 4 << 20;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("`{path}` has mode {mode:04o}: others may read it, run chmod 600 on it")]
    TooOpen { path: PathBuf, mode: u32 },
    #[error("`{path}` is larger than {MOST_BYTES} bytes")]
    TooLarge { path: PathBuf },
    #[error("`{path}` exists already")]
    Exists { path: PathBuf },
    #[error("`{path}`: {cause}")]
    Io { path: PathBuf, cause: io::Error },
}

/// Reads a file whose mode does not exceed 0600. The mode is that of the opened file, so that it
/// cannot be swapped between the check and the read.
pub fn read_private(path: &Path) -> Result<Zeroizing<Vec<u8>>, FileError> {
    let file = File::open(path).map_err(|cause| io_error(path, cause))?;
    let metadata = file.metadata().map_err(|cause| io_error(path, cause))?;
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & !0o600 != 0 {
        return Err(FileError::TooOpen { path: path.to_owned(), mode });
    }

    let mut bytes = Zeroizing::new(Vec::new());
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|cause| io_error(path, cause))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(FileError::TooLarge { path: path.to_owned() });
    }
    Ok(bytes)
}

/// Writes a new file with mode 0600 and refuses to replace one.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(FileError::Exists { path: path.to_owned() });
        }
        Err(cause) => return Err(io_error(path, cause)),
    };
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| sync_folder(path))
        .map_err(|cause| io_error(path, cause))
}

/// Replaces a file at once: a crash leaves the old bytes or the new ones.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write_beside(path, bytes).map_err(|cause| io_error(path, cause))
}

fn write_beside(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // NamedTempFile creates with mode 0600.
    let mut beside = NamedTempFile::new_in(folder_of(path))?;
    beside.write_all(bytes)?;
    beside.as_file().sync_all()?;
    beside.persist(path).map_err(|error| error.error)?;
    sync_folder(path)
}

/// Without this the rename itself may be lost in a power cut.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder_of(path))?.sync_all()
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Holds the lock of one file until dropped. The lock stands on a file beside it, because the file
/// itself is replaced.
pub fn lock(path: &Path) -> Result<File, FileError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&name)
        .map_err(|cause| io_error(path, cause))?;
    lock.lock().map_err(|cause| io_error(path, cause))?;
    Ok(lock)
}

fn io_error(path: &Path, cause: io::Error) -> FileError {
    FileError::Io { path: path.to_owned(), cause }
}
