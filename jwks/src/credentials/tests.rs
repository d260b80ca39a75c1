//! What a file of sealed headers gives, and what it refuses.

use super::*;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;

const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const SECRET: &str = "Bearer hunter2-hunter2";

fn kek() -> Kek {
    Kek::from_hex(HEX, "the test").unwrap()
}

fn place(provider: &str, name: &str) -> Place {
    let origin = "https://mcp.example".to_owned();
    Place { provider: provider.parse().unwrap(), name: name.parse().unwrap(), origin }
}

fn filled(path: &Path) -> Credentials {
    let mut credentials = Credentials::open_or_begin(path, kek()).unwrap();
    credentials.set(place("linear", "Authorization"), &Credential::parse(SECRET).unwrap()).unwrap();
    credentials.set(place("mail", "X-Key"), &Credential::parse("another").unwrap()).unwrap();
    credentials
}

/// The file, changed by somebody who can write it and has no key.
fn edited(path: &Path, edit: impl Fn(&mut Value)) -> Result<Credentials, CredentialError> {
    let before = fs::read(path).unwrap();
    let mut document = serde_json::from_slice(&before).unwrap();
    edit(&mut document);
    fs::write(path, document.to_string()).unwrap();
    let opened = Credentials::open(path, kek());
    fs::write(path, before).unwrap();
    opened
}

// C5
#[test]
fn a_sealed_header_opens_for_what_it_was_sealed_for_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("headers.sealed");
    filled(&path);

    let opened = Credentials::open(&path, kek()).unwrap();

    let value = opened.value(&place("linear", "AUTHORIZATION")).unwrap();
    assert_eq!(value.dangerous_text(), SECRET);
    assert!(value.is_same(&Credential::parse(SECRET).unwrap()));
    assert!(!value.is_same(&opened.value(&place("mail", "x-key")).unwrap()));
    let elsewhere = Place { origin: "https://evil.example".to_owned(), ..place("linear", "authorization") };
    assert!(matches!(opened.value(&elsewhere), Err(CredentialError::OtherOrigin { .. })));
    assert!(matches!(opened.value(&place("mail", "authorization")), Err(CredentialError::Absent { .. })));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
}

// C5
#[test]
fn a_sealed_header_that_was_moved_swapped_or_cut_out_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("headers.sealed");
    filled(&path);
    let edits: [&dyn Fn(&mut Value); 6] = [
        &|document| document["headers"][0]["provider"] = "mail".into(),
        &|document| document["headers"][0]["origin"] = "https://evil.example".into(),
        &|document| document["headers"][0]["name"] = "x-other".into(),
        &|document| {
            let first = document["headers"][0]["sealed"].take();
            document["headers"][0]["sealed"] = document["headers"][1]["sealed"].take();
            document["headers"][1]["sealed"] = first;
        },
        &|document| drop(document["headers"].as_array_mut().unwrap().pop()),
        &|document| drop(document.as_object_mut().unwrap().remove("check")),
    ];

    for edit in edits {
        assert!(matches!(edited(&path, edit), Err(CredentialError::Tampered { .. })));
    }

    // Even one that knew how to make the check anew would meet the record's own seal.
    let mut credentials = Credentials::open(&path, kek()).unwrap();
    credentials.document.headers[0].origin = "https://evil.example".to_owned();
    credentials.save().unwrap();
    assert!(matches!(Credentials::open(&path, kek()), Err(CredentialError::Tampered { .. })));
}

// C5
#[test]
fn sealed_headers_do_not_open_under_another_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("headers.sealed");
    filled(&path);
    let other = || Kek::from_hex(&HEX.replace('0', "1"), "the test").unwrap();

    let refused = Credentials::open(&path, other()).unwrap_err();
    let renamed = edited(&path, |document| document["kek"] = other().id().into());

    assert!(matches!(refused, CredentialError::OtherKek { .. }), "{refused}");
    assert!(matches!(renamed, Err(CredentialError::OtherKek { .. })));
    let text = fs::read_to_string(&path).unwrap().replace(&kek().id(), &other().id());
    fs::write(&path, text).unwrap();
    assert!(matches!(Credentials::open(&path, other()), Err(CredentialError::Tampered { .. })));
}

// C5, T9
#[test]
fn a_sealed_header_is_never_printed_and_never_written_in_clear() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("headers.sealed");
    let credentials = filled(&path);
    let value = credentials.value(&place("linear", "authorization")).unwrap();

    let broken = Credential::parse("hunter2\nX-Other: 1").unwrap_err();
    let name = "Authorization: hunter2".parse::<HeaderName>().unwrap_err();
    let printed = format!("{credentials:?} {value:?} {broken} {broken:?} {name} {name:?}");

    assert!(printed.contains("authorization") && !printed.contains("hunter2"), "{printed}");
    assert!(!fs::read_to_string(&path).unwrap().contains("hunter2"));
    for bad in ["", " x", "x ", "a\rb", "é", &"x".repeat(MOST + 1)] {
        assert!(Credential::parse(bad).is_err(), "{}", bad.len());
    }
}

const MOST: usize = 8 << 10;

#[test]
fn a_nonce_is_fresh_each_time_and_an_older_value_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("headers.sealed");
    let mut credentials = filled(&path);
    let seal =
        |credentials: &Credentials| serde_json::to_string(&credentials.document.headers.last()).unwrap();
    let linear = || place("linear", "authorization");

    credentials.set(linear(), &Credential::parse("new").unwrap()).unwrap();
    let first = seal(&credentials);
    credentials.set(linear(), &Credential::parse("new").unwrap()).unwrap();

    assert_ne!(first, seal(&credentials));
    assert_eq!(credentials.places().count(), 2);
    credentials.remove(&linear().provider, &linear().name).unwrap();
    let again = credentials.remove(&linear().provider, &linear().name);
    assert!(matches!(again, Err(CredentialError::Absent { .. })));
    assert_eq!(
        Credentials::open(&path, kek()).unwrap().places().collect::<Vec<_>>(),
        [place("mail", "x-key")]
    );
}

#[test]
fn of_two_that_change_the_file_the_second_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("headers.sealed");
    let mut late = Credentials::open_or_begin(&path, kek()).unwrap();
    filled(&path);

    let told = late.set(place("x", "y"), &Credential::parse("z").unwrap());

    assert!(matches!(told, Err(CredentialError::ChangedMeanwhile { .. })));
    assert_eq!(Credentials::open(&path, kek()).unwrap().places().count(), 2);
}
