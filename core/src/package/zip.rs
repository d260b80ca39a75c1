//! The container of a package: a zip, written as it streams and read strictly.
//!
//!     PK\x03\x04 … entries.bin <deflate> … PK\x01\x02 <directory> … PK\x05\x06 <end>
//!
//! Promised: what is read has one meaning. Names are plain, each stands once, sizes and checksums are as the directory
//! says, members do not overlap, and none gives more bytes than it declares. Encryption, comments, zip64 and split
//! archives are refused. Not promised: that it is right; [`super::verify`] says that.
//! The format is PKWARE's APPNOTE 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16.

mod read;
mod write;

pub use read::{Archive, Bytes, ZipError};
pub use write::{FileWriter, Writer};

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const LOCAL_BYTES: usize = 30;
const CENTRAL_BYTES: usize = 46;
const END_BYTES: usize = 22;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// Without zip64 a size is four bytes. A longer record is packed in ranges.
const LARGEST: u64 = u32::MAX as u64 - 1;

/// `name`, or `folder/name`, of letters, digits, `.`, `-` and `_`.
fn is_plain(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.bytes().all(allowed);
    let parts: Vec<&str> = name.split('/').collect();
    name.len() <= 128 && parts.len() <= 2 && parts.into_iter().all(part)
}

#[cfg(test)]
mod tests;
