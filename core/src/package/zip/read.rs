//! Reading, strictly: the directory first, then members by name, each from its start.

use super::{CENTRAL, CENTRAL_BYTES, DEFLATED, END, END_BYTES, LOCAL, LOCAL_BYTES, STORED, is_plain};
use crate::package::files::Source;
use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};

const MOST_MEMBERS: usize = 20_000;
const BUFFER: usize = 64 * 1024;

const ENCRYPTED: u16 = 1;
/// Deflate's own hints, sizes behind the member, names in UTF-8.
const KNOWN_FLAGS: u16 = 0b110 | SIZES_BEHIND | (1 << 11);
const SIZES_BEHIND: u16 = 1 << 3;

/// Where bytes are read from, at any place and in any order.
pub trait Bytes {
    fn length(&self) -> io::Result<u64>;
    /// As many bytes as there are at a place, at most `buffer`; 0 at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

#[derive(Debug, thiserror::Error)]
pub enum ZipError {
    #[error("not a zip: {0}")]
    NotAZip(&'static str),
    #[error("member `{0}` is encrypted")]
    Encrypted(String),
    #[error("`{0}` is no name of a member")]
    Name(String),
    #[error("member `{0}` stands twice")]
    Twice(String),
    #[error("member `{member}`: {what}")]
    Member { member: String, what: &'static str },
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<ZipError> for io::Error {
    fn from(error: ZipError) -> Self {
        match error {
            ZipError::Io(error) => error,
            other => Self::new(io::ErrorKind::InvalidData, other),
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Member {
    flags: u16,
    method: u16,
    crc: u32,
    compressed: u32,
    size: u32,
    offset: u32,
}

/// A zip whose directory was read.
pub struct Archive<B> {
    bytes: B,
    members: BTreeMap<String, Member>,
}

impl<B: Bytes> Archive<B> {
    pub fn open(bytes: B) -> Result<Self, ZipError> {
        let (count, length, start) = end(&bytes)?;
        let mut directory = vec![0; length];
        exact(&bytes, &mut directory, start)?;
        let mut rest = directory.as_slice();
        let mut members = BTreeMap::new();
        let mut folded = std::collections::BTreeSet::new();
        for _ in 0..count {
            let (name, member) = central(&mut rest)?;
            // Some file systems would make one file of both.
            if !folded.insert(name.to_ascii_lowercase()) {
                return Err(ZipError::Twice(name));
            }
            members.insert(name, member);
        }
        if !rest.is_empty() {
            return Err(ZipError::NotAZip("its directory is longer than it says"));
        }
        let archive = Self { bytes, members };
        archive.refuse_overlaps(start)?;
        Ok(archive)
    }

    /// Every name, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str)
    }

    /// Each local header stands where the directory says and repeats it; no byte belongs to two members.
    fn refuse_overlaps(&self, start: u64) -> Result<(), ZipError> {
        let mut by_place: Vec<(&String, &Member)> = self.members.iter().collect();
        by_place.sort_by_key(|(_, member)| member.offset);
        let mut free_from = 0;
        for (name, member) in by_place {
            if u64::from(member.offset) < free_from {
                return Err(broken(name, "it overlaps another"));
            }
            free_from = self.content_of(name, member)? + u64::from(member.compressed);
            if free_from > start {
                return Err(broken(name, "it overlaps the directory"));
            }
        }
        Ok(())
    }

    /// Where a member's content begins.
    fn content_of(&self, name: &str, member: &Member) -> Result<u64, ZipError> {
        let mut header = [0; LOCAL_BYTES];
        exact(&self.bytes, &mut header, member.offset.into())?;
        if long(&header, 0) != LOCAL {
            return Err(broken(name, "it does not start where the directory says"));
        }
        let (name_length, extra) = (usize::from(short(&header, 26)), short(&header, 28));
        let mut own_name = vec![0; name_length];
        let after = u64::from(member.offset) + LOCAL_BYTES as u64;
        exact(&self.bytes, &mut own_name, after)?;
        let same = own_name == name.as_bytes()
            && (short(&header, 6), short(&header, 8)) == (member.flags, member.method);
        let sums = (long(&header, 14), long(&header, 18), long(&header, 22));
        let same_sums =
            member.flags & SIZES_BEHIND != 0 || sums == (member.crc, member.compressed, member.size);
        if !same || !same_sums {
            return Err(broken(name, "its own header says otherwise than the directory"));
        }
        Ok(after + name_length as u64 + u64::from(extra))
    }

    fn reader(&self, name: &str, member: &Member) -> Result<Box<dyn Read + '_>, ZipError> {
        let content = self.content_of(name, member)?;
        let raw = BufReader::with_capacity(
            BUFFER,
            Range { bytes: &self.bytes, at: content, left: member.compressed.into() },
        );
        let checked = |inner| Checked { inner, name: name.to_owned(), member: *member, crc: Crc::new() };
        Ok(match member.method {
            STORED => Box::new(checked(Packed::Stored(raw))),
            _ => Box::new(checked(Packed::Deflated(DeflateDecoder::new(raw)))),
        })
    }
}

impl<B: Bytes> Source for Archive<B> {
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn Read + '_>>> {
        let Some(member) = self.members.get(name) else { return Ok(None) };
        Ok(Some(self.reader(name, member)?))
    }
}

/// How many members, how long their directory is, and where it starts.
fn end(bytes: &impl Bytes) -> Result<(usize, usize, u64), ZipError> {
    let wrong = ZipError::NotAZip;
    let length = bytes.length()?;
    let at = length.checked_sub(END_BYTES as u64).ok_or(wrong("too short"))?;
    let mut end = [0; END_BYTES];
    exact(bytes, &mut end, at)?;
    if long(&end, 0) != END || short(&end, 20) != 0 {
        return Err(wrong("it does not end as one"));
    }
    let (count, directory, start) = (short(&end, 10), long(&end, 12), u64::from(long(&end, 16)));
    if [short(&end, 4), short(&end, 6)] != [0, 0] || short(&end, 8) != count {
        return Err(wrong("it is split"));
    }
    let count = usize::from(count);
    if count > MOST_MEMBERS || start + u64::from(directory) != at {
        return Err(wrong("its directory is not where it says"));
    }
    // INVARIANT: no more is allocated than the file is long.
    Ok((count, directory as usize, start))
}

fn central(rest: &mut &[u8]) -> Result<(String, Member), ZipError> {
    let cut = ZipError::NotAZip("its directory is cut off");
    let Some((head, tail)) = rest.split_at_checked(CENTRAL_BYTES) else { return Err(cut) };
    let lengths = [28, 30, 32].map(|place| usize::from(short(head, place)));
    if long(head, 0) != CENTRAL {
        return Err(ZipError::NotAZip("its directory is not one"));
    }
    let Some((name, tail)) = tail.split_at_checked(lengths[0]) else { return Err(cut) };
    let Some(tail) = tail.get(lengths[1]..) else { return Err(cut) };
    if lengths[2] != 0 || short(head, 34) != 0 {
        return Err(ZipError::NotAZip("a member has a comment, or is on another disk"));
    }
    *rest = tail;
    let name = String::from_utf8_lossy(name).into_owned();
    if !is_plain(&name) {
        return Err(ZipError::Name(name));
    }
    let member = Member {
        flags: short(head, 8),
        method: short(head, 10),
        crc: long(head, 16),
        compressed: long(head, 20),
        size: long(head, 24),
        offset: long(head, 42),
    };
    if member.flags & ENCRYPTED != 0 {
        return Err(ZipError::Encrypted(name));
    }
    if member.flags & !KNOWN_FLAGS != 0 || ![STORED, DEFLATED].contains(&member.method) {
        return Err(broken(&name, "it is packed in a way that is not known"));
    }
    if [member.compressed, member.size, member.offset].contains(&u32::MAX) {
        return Err(broken(&name, "it is larger than a member may be"));
    }
    if member.method == STORED && member.compressed != member.size {
        return Err(broken(&name, "it is stored in another size than it has"));
    }
    Ok((name, member))
}

/// Some bytes of the file, in order.
struct Range<'a, B> {
    bytes: &'a B,
    at: u64,
    left: u64,
}

impl<B: Bytes> Read for Range<'_, B> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let count = self.bytes.read_at(&mut buffer[..most], self.at)?;
        if count == 0 && most > 0 {
            return Err(ZipError::NotAZip("it is cut off").into());
        }
        self.at += count as u64;
        self.left -= count as u64;
        Ok(count)
    }
}

enum Packed<'a, B> {
    Stored(BufReader<Range<'a, B>>),
    Deflated(DeflateDecoder<BufReader<Range<'a, B>>>),
}

/// A member's content, refused where it is not what the directory declared.
struct Checked<'a, B> {
    inner: Packed<'a, B>,
    name: String,
    member: Member,
    crc: Crc,
}

impl<B: Bytes> Checked<'_, B> {
    fn unread(&self) -> u64 {
        let raw = match &self.inner {
            Packed::Stored(raw) => raw,
            Packed::Deflated(decoder) => decoder.get_ref(),
        };
        raw.get_ref().left + raw.buffer().len() as u64
    }
}

impl<B: Bytes> Read for Checked<'_, B> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wrong = |what| io::Error::from(broken(&self.name, what));
        let count = match &mut self.inner {
            Packed::Stored(raw) => raw.read(buffer)?,
            Packed::Deflated(decoder) => decoder.read(buffer)?,
        };
        let seen = u64::from(self.crc.amount()) + count as u64;
        if seen > u64::from(self.member.size) {
            return Err(wrong("it is larger than it declares"));
        }
        self.crc.update(&buffer[..count]);
        let ended = count == 0 && !buffer.is_empty();
        if ended && (seen != u64::from(self.member.size) || self.unread() > 0) {
            return Err(wrong("it has another size than it declares"));
        }
        if ended && self.crc.sum() != self.member.crc {
            return Err(wrong("its checksum is another"));
        }
        Ok(count)
    }
}

fn exact(bytes: &impl Bytes, buffer: &mut [u8], offset: u64) -> Result<(), ZipError> {
    let mut done = 0;
    while done < buffer.len() {
        match bytes.read_at(&mut buffer[done..], offset + done as u64)? {
            0 => return Err(ZipError::NotAZip("it is cut off")),
            count => done += count,
        }
    }
    Ok(())
}

fn broken(member: &str, what: &'static str) -> ZipError {
    ZipError::Member { member: member.to_owned(), what }
}

fn short(bytes: &[u8], place: usize) -> u16 {
    u16::from_le_bytes([bytes[place], bytes[place + 1]])
}

fn long(bytes: &[u8], place: usize) -> u32 {
    u32::from_le_bytes([bytes[place], bytes[place + 1], bytes[place + 2], bytes[place + 3]])
}

impl Bytes for Vec<u8> {
    fn length(&self) -> io::Result<u64> {
        Ok(self.as_slice().len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.get(offset..)).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}
