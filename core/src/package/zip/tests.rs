//! P7: what is read has one meaning, and what is written is read.

use super::*;
use crate::package::Source;
use proptest::prelude::*;
use std::io::{Cursor, Read, Write};

fn packed(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = Writer::new(Cursor::new(Vec::new()), 1 << 20);
    for (name, bytes) in members {
        (writer, _) = writer.whole(name, bytes).expect("room");
    }
    writer.finish().expect("room").into_inner()
}

fn read(zip: &[u8], name: &str) -> Result<Vec<u8>, String> {
    let archive = Archive::open(zip.to_vec()).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    let file = archive.open(name).map_err(|error| error.to_string())?;
    file.ok_or("not there")?.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Replaces bytes that stand there once.
fn with(zip: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let places: Vec<usize> = (0..zip.len()).filter(|at| zip[*at..].starts_with(old)).collect();
    let mut changed = zip.to_vec();
    for place in &places {
        changed[*place..*place + new.len()].copy_from_slice(new);
    }
    assert!(!places.is_empty());
    changed
}

/// The place of the first directory entry.
fn directory(zip: &[u8]) -> usize {
    zip.windows(4).position(|four| four == CENTRAL.to_le_bytes()).expect("a directory")
}

#[test]
fn what_was_written_is_read() {
    let long = b"the same again ".repeat(40_000);
    let zip = packed(&[("a.json", b"{}"), ("bundles/b", &long), ("empty", b"")]);

    assert_eq!(read(&zip, "a.json").unwrap(), b"{}");
    assert_eq!(read(&zip, "bundles/b").unwrap(), long);
    assert_eq!(read(&zip, "empty").unwrap(), b"");
    assert_eq!(read(&zip, "other").unwrap_err(), "not there");
    assert!(zip.len() < long.len() / 10);
    let archive = Archive::open(zip).unwrap();
    assert_eq!(archive.names().collect::<Vec<_>>(), ["a.json", "bundles/b", "empty"]);
}

/// The manifest's digest is of the content, not of the zip.
#[test]
fn a_members_digest_is_that_of_its_content() {
    let writer = Writer::new(Cursor::new(Vec::new()), 1 << 20);
    let (_, digest) = writer.whole("a", b"some content").unwrap();
    assert_eq!(digest, crate::package::FileDigest::of(b"some content"));
}

#[test]
fn nothing_grows_beyond_what_was_allowed() {
    let mut file = Writer::new(Cursor::new(Vec::new()), 1000).file("noise").unwrap();
    let mut noise = crate::digest::Digest::of(b"seed");
    let refused = (0..10_000).find_map(|_| {
        noise = crate::digest::Digest::of(noise.bytes());
        file.write_all(noise.bytes()).err()
    });
    assert_eq!(refused.unwrap().kind(), std::io::ErrorKind::FileTooLarge);
}

#[test]
fn a_name_that_leads_elsewhere_is_refused() {
    let zip = packed(&[("aaaaaaaa", b"{}")]);
    for name in
        ["../aaaaa", "/aaaaaaa", "a/../aaa", "aaa\\aaaa", "aaaaaaa/", ".aaaaaaa", "a/a/aaaa", "aaaa:aaa"]
    {
        let changed = with(&zip, b"aaaaaaaa", name.as_bytes());
        assert!(read(&changed, name).unwrap_err().contains("no name of a member"), "{name}");
        assert!(Writer::new(Cursor::new(Vec::new()), 1000).file(name).is_err(), "{name}");
    }
}

#[test]
fn a_name_that_stands_twice_is_refused() {
    let zip = packed(&[("aaaa", b"one"), ("bbbb", b"two")]);
    assert!(read(&with(&zip, b"bbbb", b"aaaa"), "aaaa").unwrap_err().contains("stands twice"));
    assert!(read(&with(&zip, b"bbbb", b"AAAA"), "aaaa").unwrap_err().contains("stands twice"));
    let writer = Writer::new(Cursor::new(Vec::new()), 1000).whole("aaaa", b"").unwrap().0;
    assert!(writer.file("AAAA").is_err());
}

#[test]
fn an_encrypted_member_is_refused() {
    let mut zip = packed(&[("a", b"{}")]);
    let at = directory(&zip);
    zip[at + 8] |= 1;
    assert_eq!(read(&zip, "a").unwrap_err(), "member `a` is encrypted");
}

/// A member of 600 KB that says it has 5 bytes, in both places, is stopped behind the fifth.
#[test]
fn a_member_that_is_larger_than_it_declares_is_refused() {
    let long = vec![b'x'; 600_000];
    let mut zip = packed(&[("a", &long)]);
    let at = directory(&zip);
    for place in [22, at + 24] {
        zip[place..place + 4].copy_from_slice(&5_u32.to_le_bytes());
    }
    assert!(read(&zip, "a").unwrap_err().contains("larger than it declares"));
}

#[test]
fn members_that_share_bytes_are_refused() {
    let mut zip = packed(&[("a", b"one"), ("b", b"two")]);
    let second = directory(&zip) + CENTRAL_BYTES + 1;
    zip[second + 42..second + 46].copy_from_slice(&0_u32.to_le_bytes());
    assert!(Archive::open(zip).is_err());
}

#[test]
fn a_header_that_says_otherwise_than_the_directory_is_refused() {
    for (place, what) in [(6, "flags"), (8, "method"), (14, "checksum"), (18, "size"), (30, "name")] {
        let mut zip = packed(&[("a", b"one")]);
        zip[place] ^= 4;
        assert!(read(&zip, "a").unwrap_err().contains("says otherwise"), "{what}");
    }
}

#[test]
fn a_zip_that_is_cut_off_or_goes_on_is_refused() {
    let zip = packed(&[("a", b"one")]);
    for length in 0..zip.len() {
        assert!(Archive::open(zip[..length].to_vec()).is_err(), "{length}");
    }
    assert!(Archive::open([zip.as_slice(), b"x"].concat()).is_err());
}

proptest! {
    /// No byte can be changed without notice, save in times and versions, which nobody reads; nothing panics.
    #[test]
    fn a_changed_byte_is_seen_or_means_nothing(place in 0_usize..400, bit in 0_u8..8) {
        let members: [(&str, &[u8]); 2] = [("a", b"some content of a"), ("b", b"and of b")];
        let mut zip = packed(&members);
        let place = place % zip.len();
        zip[place] ^= 1 << bit;
        for (name, content) in members {
            if let Ok(found) = read(&zip, name) {
                prop_assert_eq!(found, content);
            }
        }
    }
}
