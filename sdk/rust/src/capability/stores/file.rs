//! Used capabilities in a folder.

use super::{Store, StoreError};
use crate::clock;
use crate::fetch::Later;
use counterfoil_core::digest::Digest;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};

/// How often what no clock accepts any more is removed, in seconds.
const BETWEEN_SWEEPS: i64 = 60;

/// A folder, for every process of one machine: what a provider over standard input needs, since a gateway starts one child
/// per agent and starts it again. A file that only one process can create is a slip that only one call can use.
pub struct FileStore {
    folder: PathBuf,
    swept_at: AtomicI64,
}

impl FileStore {
    /// Makes the folder, for its owner alone.
    pub fn open(folder: impl AsRef<Path>) -> io::Result<Self> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder)?;
        Ok(Self { folder: folder.as_ref().to_owned(), swept_at: AtomicI64::new(0) })
    }

    /// Writes twenty bytes; not worth a thread of its own.
    fn take(&self, audience: &str, jti: &str, forget_at: i64) -> io::Result<bool> {
        let now = clock::now().millis() / 1000;
        if now - self.swept_at.load(Ordering::Relaxed) > BETWEEN_SWEEPS {
            self.swept_at.store(now, Ordering::Relaxed);
            self.sweep(now)?;
        }
        let name = Digest::of(format!("{audience} {jti}").as_bytes()).hex();
        match fs::File::create_new(self.folder.join(name)) {
            Ok(mut file) => file.write_all(forget_at.to_string().as_bytes()).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn sweep(&self, now: i64) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            // Another process may have swept it first. A file that is still empty was made this moment.
            let text = fs::read_to_string(&path).unwrap_or_default();
            if text.parse::<i64>().is_ok_and(|forget_at| forget_at < now) {
                let _gone = fs::remove_file(&path);
            }
        }
        Ok(())
    }
}

impl Store for FileStore {
    fn consume<'s>(
        &'s self,
        audience: &'s str,
        jti: &'s str,
        forget_at: i64,
    ) -> Later<'s, Result<bool, StoreError>> {
        Box::pin(
            async move { self.take(audience, jti, forget_at).map_err(|error| StoreError(error.to_string())) },
        )
    }
}
