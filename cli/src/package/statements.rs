//! Reading long files line by line.

use std::io::{BufRead as _, BufReader, Read};

use anyhow::{Context, ensure};
use counterfoil_core::package::MAX_LINE;
use serde::de::DeserializeOwned;

/// One JSON document a line; none is longer than a package's longest.
pub(super) struct Lines<'s> {
    name: &'static str,
    file: BufReader<Box<dyn Read + 's>>,
    text: Vec<u8>,
    number: u64,
}

impl<'s> Lines<'s> {
    pub(super) fn of(file: Box<dyn Read + 's>, name: &'static str) -> Self {
        Self { name, file: BufReader::with_capacity(64 * 1024, file), text: Vec::new(), number: 0 }
    }

    pub(super) fn next_line<T: DeserializeOwned>(&mut self) -> anyhow::Result<Option<T>> {
        self.text.clear();
        let limit = MAX_LINE as u64 + 1;
        let read = self.file.by_ref().take(limit).read_until(b'\n', &mut self.text)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let place = || format!("{} line {}", self.name, self.number);
        ensure!(read <= MAX_LINE, "{} is too long", place());
        serde_json::from_slice(&self.text).map(Some).with_context(place)
    }
}

pub(super) fn each_line<T: DeserializeOwned>(
    file: Box<dyn Read + '_>,
    name: &'static str,
    mut take: impl FnMut(T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut lines = Lines::of(file, name);
    while let Some(line) = lines.next_line()? {
        take(line)?;
    }
    Ok(())
}
