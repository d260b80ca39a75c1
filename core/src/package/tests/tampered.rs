//! P7: each class of tampering, also by somebody who can sign the manifest anew.

use super::packer::{Package, entry_of, pins};
use super::{honest, pack, packer_of};
use crate::key::{Execution as ExecutionKey, Jwk, Purpose, SigningKey};
use crate::package::{Line, Verdict, name, write_leaf};
use proptest::prelude::*;

fn lines(package: &Package) -> Vec<String> {
    let text = String::from_utf8(package.files[name::STATEMENTS].clone()).expect("text");
    text.lines().map(str::to_owned).collect()
}

fn with_lines(package: &mut Package, lines: &[String]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    package.files.insert(name::STATEMENTS.to_owned(), text.into_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// One bit of any file: never accepted.
    #[test]
    fn any_flipped_bit_is_noticed(file in any::<prop::sample::Index>(), bit in any::<prop::sample::Index>()) {
        let scene = honest();
        let mut package = pack(&scene);
        let names: Vec<String> = package.files.keys().cloned().collect();
        let name = &names[file.index(names.len())];
        let bytes = package.files.get_mut(name).expect("a file");
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);

        let report = package.verify(pins(&scene.writer));

        prop_assert!(report.verdict != Verdict::Unanchored, "{name}, bit {bit}");
    }
}

#[test]
fn statements_that_were_dropped_swapped_or_changed_are_noticed() {
    let scene = honest();
    let packer = packer_of(&scene);
    type Change = fn(&mut Vec<String>);
    let changes: [(&str, u8, Change); 5] = [
        ("the last line is gone", 20, |lines| drop(lines.pop())),
        ("a line in the middle is gone", 40, |lines| drop(lines.remove(8))),
        ("two lines changed places", 40, |lines| lines.swap(7, 8)),
        ("a line too many", 40, |lines| lines.push(lines[7].clone())),
        ("a verdict was changed", 40, |lines| lines[6] = lines[6].replace("ALLOW", "DENY")),
    ];
    for (why, code, change) in changes {
        let mut package = packer.pack();
        let mut changed = lines(&package);
        change(&mut changed);
        with_lines(&mut package, &changed);
        package.seal(&packer);

        let report = package.verify(pins(&scene.writer));

        assert_eq!(report.verdict.exit_code(), code, "{why}: {}", report.verdict);
    }
}

#[test]
fn entries_that_were_cut_off_or_rewritten_are_noticed() {
    let scene = honest();
    let packer = packer_of(&scene);
    let rewrite = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let mut leaves: Vec<Vec<u8>> =
            scene.writer.rows.entries.iter().map(|row| entry_of(row).bytes()).collect();
        change(&mut leaves);
        let mut bundle = Vec::new();
        for leaf in &leaves {
            write_leaf(&mut bundle, leaf).expect("short");
        }
        let mut package = packer.pack();
        let mut kept = lines(&package);
        kept.truncate(leaves.len());
        with_lines(&mut package, &kept);
        package.files.insert(name::ENTRIES.to_owned(), bundle);
        package.seal(&packer);
        package.verify(pins(&scene.writer)).verdict
    };

    assert_eq!(rewrite(&|leaves| drop(leaves.pop())).exit_code(), 20);
    assert_eq!(rewrite(&|leaves| drop(leaves.remove(7))).exit_code(), 40);
    let later = |leaves: &mut Vec<Vec<u8>>| {
        let last = leaves.pop().expect("one");
        let text = String::from_utf8(last).expect("text").replace(".000Z", ".001Z");
        leaves.push(text.into_bytes());
    };
    assert_eq!(rewrite(&later).exit_code(), 40, "the time of the last entry");
}

/// A key that is found only inside the package says nothing.
#[test]
fn a_package_under_keys_that_nobody_pinned_is_unpinned() {
    let scene = honest();
    let package = pack(&scene);
    for purpose in [Purpose::Log, Purpose::Ledger] {
        let mut fewer = pins(&scene.writer);
        fewer.keys.retain(|jwk| jwk.purpose != purpose);
        let report = package.verify(fewer);
        assert_eq!(report.verdict.exit_code(), 50, "no pinned {purpose} key: {}", report.verdict);
    }

    let mut packer = packer_of(&scene);
    let stranger = SigningKey::<ExecutionKey>::from_seed(&[0x44; 32]);
    packer.jwks.keys.push(Jwk::new(stranger.public(), Purpose::Execution));
    let report = packer.pack().verify(pins(&scene.writer));
    assert_eq!(report.verdict.exit_code(), 50, "jwks.json: {}", report.verdict);

    let mut packer = packer_of(&scene);
    packer.providers.push(super::provider_line(stranger.public(), 5, None));
    let report = packer.pack().verify(pins(&scene.writer));
    assert_eq!(report.verdict.exit_code(), 50, "provider-keys.json: {}", report.verdict);
}

#[test]
fn a_file_that_is_not_as_it_was_packed_or_is_gone_is_noticed() {
    let scene = honest();
    let mut package = pack(&scene);
    package.edit(name::TOMBSTONES, |text| format!("{text} "));
    assert_eq!(package.verify(pins(&scene.writer)).verdict.exit_code(), 40);

    for name in [name::ENTRIES, name::STATEMENTS, name::NEW_CHECKPOINT, name::MANIFEST, name::JWKS] {
        let mut package = pack(&scene);
        package.files.remove(name);
        assert_eq!(package.verify(pins(&scene.writer)).verdict.exit_code(), 20, "{name}");
    }
}

/// A withheld execution is shown as what it is; a decision has no reason to be withheld.
#[test]
fn only_what_others_made_may_be_withheld() {
    let scene = honest();
    let packer = packer_of(&scene);
    for (seq, code) in [(8usize, 10), (6, 20)] {
        let mut package = packer.pack();
        let mut changed = lines(&package);
        let withheld = crate::package::Withheld {
            form: crate::statement::ReceivedForm::VendorWire,
            signer: crate::statement::Signer { kid: None, thumbprint: None },
            holds: true,
        };
        let line = Line::of_withheld(u64::try_from(seq).expect("small"), withheld).bytes();
        changed[seq] = String::from_utf8(line).expect("text").trim_end().to_owned();
        with_lines(&mut package, &changed);
        package.seal(&packer);

        let report = package.verify(pins(&scene.writer));

        assert_eq!(report.verdict.exit_code(), code, "entry {seq}: {}", report.verdict);
        assert_eq!(report.withheld, 1);
    }
}
