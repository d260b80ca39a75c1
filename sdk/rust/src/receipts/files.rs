//! The folder: every file is there whole, or not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(super) const PENDING: &str = "pending";

pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path.join(PENDING))?;
        Ok(Self(path.to_owned()))
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.0.join(name);
        let new = self.0.join(format!("{name}.new"));
        fs::write(&new, bytes)?;
        fs::rename(new, path)
    }

    pub(super) fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        absent(fs::read(self.0.join(name)))
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        absent(fs::remove_file(self.0.join(name))).map(drop)
    }

    /// Every receipt, in the order of its entry.
    pub(super) fn receipts(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut numbers: Vec<u64> = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let name = entry?.file_name();
            let number: Option<u64> = name.to_str().and_then(|name| name.strip_suffix(".json")?.parse().ok());
            numbers.extend(number);
        }
        numbers.sort_unstable();
        numbers.iter().map(|number| fs::read(self.0.join(format!("{number}.json")))).collect()
    }

    pub(super) fn pending(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut texts = Vec::new();
        for entry in fs::read_dir(self.0.join(PENDING))? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "json") {
                texts.push(fs::read(path)?);
            }
        }
        Ok(texts)
    }
}

fn absent<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
