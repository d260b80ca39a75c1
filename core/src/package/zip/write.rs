//! Writing: one member after the other, each compressed as it comes.

use super::{CENTRAL, DEFLATED, END, LARGEST, LOCAL, LOCAL_BYTES, is_plain};
use crate::digest::Digest;
use crate::package::files::FileDigest;
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use sha2::{Digest as _, Sha256};
use std::io::{self, Seek, SeekFrom, Write};

/// Deflate, versions 2.0.
const VERSION: u16 = 20;
/// 1 January 1980: a package says itself when it was made, and equal contents give equal bytes.
const DATE: u16 = 0x0021;
/// Where checksum and sizes stand in a local header.
const SUMS: u64 = 14;

struct Member {
    name: String,
    offset: u64,
    crc: u32,
    compressed: u64,
    size: u64,
}

/// Between two members.
pub struct Writer<W> {
    out: Counted<W>,
    members: Vec<Member>,
}

/// Inside a member.
pub struct FileWriter<W: Write> {
    out: DeflateEncoder<Counted<W>>,
    members: Vec<Member>,
    name: String,
    offset: u64,
    crc: Crc,
    digest: Sha256,
}

impl<W: Write + Seek> Writer<W> {
    /// Fails with `FileTooLarge` as soon as more than `largest` bytes would have been written.
    pub fn new(out: W, largest: u64) -> Self {
        let out = Counted { out, written: 0, largest: largest.min(LARGEST) };
        Self { out, members: Vec::new() }
    }

    /// Begins a member.
    pub fn file(mut self, name: &str) -> io::Result<FileWriter<W>> {
        if !is_plain(name) || self.members.iter().any(|member| member.name.eq_ignore_ascii_case(name)) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("member `{name}`")));
        }
        let offset = self.out.written;
        let mut header = Vec::with_capacity(LOCAL_BYTES + name.len());
        header.extend(LOCAL.to_le_bytes());
        for field in [VERSION, 0, DEFLATED, 0, DATE] {
            header.extend(field.to_le_bytes());
        }
        // Checksum and sizes are written once they are known.
        header.extend([0; 12]);
        header.extend(short(name.len())?.to_le_bytes());
        header.extend(0_u16.to_le_bytes());
        header.extend(name.as_bytes());
        self.out.write_all(&header)?;
        Ok(FileWriter {
            // Signatures and digests hardly shrink; more effort costs time and gains a few percent.
            out: DeflateEncoder::new(self.out, Compression::fast()),
            members: self.members,
            name: name.to_owned(),
            offset,
            crc: Crc::new(),
            digest: Sha256::new(),
        })
    }

    /// Writes a whole member.
    pub fn whole(self, name: &str, bytes: &[u8]) -> io::Result<(Self, FileDigest)> {
        let mut file = self.file(name)?;
        file.write_all(bytes)?;
        file.end()
    }

    /// Writes the directory and hands back what everything was written to.
    pub fn finish(mut self) -> io::Result<W> {
        let start = self.out.written;
        let mut directory = Vec::new();
        for member in &self.members {
            directory.extend(CENTRAL.to_le_bytes());
            for field in [VERSION, VERSION, 0, DEFLATED, 0, DATE] {
                directory.extend(field.to_le_bytes());
            }
            directory.extend(member.crc.to_le_bytes());
            directory.extend(long(member.compressed)?.to_le_bytes());
            directory.extend(long(member.size)?.to_le_bytes());
            directory.extend(short(member.name.len())?.to_le_bytes());
            // Extra, comment, disk, internal and external attributes.
            directory.extend([0; 12]);
            directory.extend(long(member.offset)?.to_le_bytes());
            directory.extend(member.name.as_bytes());
        }
        let count = short(self.members.len())?;
        let length = directory.len() as u64;
        directory.extend(END.to_le_bytes());
        for field in [0, 0, count, count] {
            directory.extend(field.to_le_bytes());
        }
        directory.extend(long(length)?.to_le_bytes());
        directory.extend(long(start)?.to_le_bytes());
        directory.extend(0_u16.to_le_bytes());
        self.out.write_all(&directory)?;
        self.out.flush()?;
        Ok(self.out.out)
    }
}

impl<W: Write + Seek> FileWriter<W> {
    /// Ends the member: its size and digest, as a manifest names them.
    pub fn end(self) -> io::Result<(Writer<W>, FileDigest)> {
        let size = u64::from(self.crc.amount());
        let crc = self.crc.sum();
        let mut out = self.out.finish()?;
        let header = (LOCAL_BYTES + self.name.len()) as u64;
        let compressed = out.written - self.offset - header;
        out.out.seek(SeekFrom::Start(self.offset + SUMS))?;
        out.out.write_all(&crc.to_le_bytes())?;
        out.out.write_all(&long(compressed)?.to_le_bytes())?;
        out.out.write_all(&long(size)?.to_le_bytes())?;
        out.out.seek(SeekFrom::End(0))?;
        let mut members = self.members;
        members.push(Member { name: self.name, offset: self.offset, crc, compressed, size });
        let digest = Digest::from_bytes(self.digest.finalize().into());
        Ok((Writer { out, members }, FileDigest { bytes: size, digest }))
    }
}

impl<W: Write> Write for FileWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // `Crc` counts in four bytes and would start again from 0.
        if u64::from(self.crc.amount()) + bytes.len() as u64 > LARGEST {
            return Err(too_large());
        }
        self.out.write_all(bytes)?;
        self.crc.update(bytes);
        self.digest.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // Flushing a deflate stream in the middle would only make it longer.
        Ok(())
    }
}

struct Counted<W> {
    out: W,
    written: u64,
    largest: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.written + bytes.len() as u64 > self.largest {
            return Err(too_large());
        }
        let count = self.out.write(bytes)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, "larger than a package may be")
}

fn short(number: usize) -> io::Result<u16> {
    u16::try_from(number).map_err(|_| too_large())
}

fn long(number: u64) -> io::Result<u32> {
    u32::try_from(number).map_err(|_| too_large())
}
