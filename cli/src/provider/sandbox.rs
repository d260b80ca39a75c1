//! The folder that notes and letters live in.
//!
//! Promised: a name under `/notes` reaches a file under `<folder>/notes` and nothing else: no `..`,
//! no link out of the folder.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

pub struct Sandbox {
    notes: PathBuf,
    outbox: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("`{0}` is not a path under /notes")]
    Outside(String),
    #[error("`{0}` leads out of the folder")]
    LeadsOut(String),
    #[error("`{name}`: {cause}")]
    Io { name: String, cause: io::Error },
}

impl Sandbox {
    pub fn new(folder: &Path) -> io::Result<Self> {
        let (notes, outbox) = (folder.join("notes"), folder.join("outbox"));
        fs::create_dir_all(&notes)?;
        fs::create_dir_all(&outbox)?;
        Ok(Self { notes: notes.canonicalize()?, outbox })
    }

    /// Names below `/notes/…`, one a line, folders with a slash at the end.
    pub fn list(&self, name: &str) -> Result<String, SandboxError> {
        let path = self.place(name)?;
        let failed = |cause| SandboxError::Io { name: name.to_owned(), cause };
        let mut names = Vec::new();
        for entry in fs::read_dir(path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let slash = if entry.path().is_dir() { "/" } else { "" };
            names.push(format!("{}{slash}", entry.file_name().to_string_lossy()));
        }
        names.sort();
        Ok(names.join("\n"))
    }

    pub fn read(&self, name: &str) -> Result<String, SandboxError> {
        let path = self.place(name)?;
        fs::read_to_string(path).map_err(|cause| SandboxError::Io { name: name.to_owned(), cause })
    }

    pub fn write(&self, name: &str, text: &str) -> Result<(), SandboxError> {
        let path = self.place(name)?;
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        folder
            .and_then(|()| fs::write(path, text))
            .map_err(|cause| SandboxError::Io { name: name.to_owned(), cause })
    }

    pub fn delete(&self, name: &str) -> Result<(), SandboxError> {
        let path = self.place(name)?;
        fs::remove_file(path).map_err(|cause| SandboxError::Io { name: name.to_owned(), cause })
    }

    /// A letter becomes the next numbered file of the outbox.
    pub fn send(&self, to: &str, subject: &str, text: &str) -> Result<String, SandboxError> {
        let failed = |cause| SandboxError::Io { name: "outbox".to_owned(), cause };
        let next = fs::read_dir(&self.outbox).map_err(failed)?.count() + 1;
        let name = format!("{next:04}.eml");
        // A line break in a header would begin another header.
        let (to, subject) = (one_line(to), one_line(subject));
        let letter = format!("To: {to}\nSubject: {subject}\n\n{text}\n");
        fs::write(self.outbox.join(&name), letter).map_err(failed)?;
        Ok(name)
    }

    fn place(&self, name: &str) -> Result<PathBuf, SandboxError> {
        let below =
            Path::new(name).strip_prefix("/notes").map_err(|_| SandboxError::Outside(name.to_owned()))?;
        if !below.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(SandboxError::Outside(name.to_owned()));
        }
        let path = self.notes.join(below);
        // The nearest thing that exists decides where the rest would go.
        let existing = path.ancestors().find(|part| part.symlink_metadata().is_ok());
        let real = existing.and_then(|part| part.canonicalize().ok());
        match real {
            Some(real) if real.starts_with(&self.notes) => Ok(path),
            _ => Err(SandboxError::LeadsOut(name.to_owned())),
        }
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}
