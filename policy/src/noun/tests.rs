use super::*;
use serde_json::json;

#[test]
fn a_normal_path_is_a_noun() {
    for path in ["/", "/a", "/a/b.txt", "/notes/été.txt", "/a/..b", "/a/.hidden", "/a b"] {
        assert!(is_normal_path(path), "{path}");
    }
}

/// G2: `/notes/../etc/passwd` must not pass as something below `/notes`.
#[test]
fn a_path_in_another_spelling_is_no_noun() {
    for path in [
        "",
        "a",
        "./a",
        "../a",
        "~/a",
        "//a",
        "/a//b",
        "/a/",
        "/a/.",
        "/a/./b",
        "/..",
        "/a/..",
        "/a/../b",
        "/a\0b",
        "/a\nb",
        "/a\\..\\b",
        "file:///a",
        "C:/a",
    ] {
        assert!(!is_normal_path(path), "{path:?}");
    }
    assert!(!is_normal_path(&"/a".repeat(MAX_DEPTH + 1)));
}

#[test]
fn the_ancestors_of_a_path_are_its_folders() {
    let ancestors = |path| {
        let noun = NounValue::parse(NounKind::Path, path).expect("normal path");
        noun.ancestors().join(" ")
    };

    assert_eq!(ancestors("/a/b/c"), "/a/b /a /");
    assert_eq!(ancestors("/a"), "/");
    assert_eq!(ancestors("/"), "");
}

#[test]
fn an_empty_or_endless_value_is_no_noun() {
    let address: NounType = "address".parse().expect("noun type");
    let kind = NounKind::of(address).expect("kind");

    assert!(NounValue::parse(kind.clone(), "").is_err());
    assert!(NounValue::parse(kind.clone(), &"a".repeat(MAX_VALUE + 1)).is_err());
    assert!(NounValue::parse(kind, "a@example.com").is_ok());
}

#[test]
fn each_element_of_an_array_is_a_noun() {
    let source = NounSource::each(NounKind::Path, "/paths".into());

    let nouns = source.extract("p/t", &json!({ "paths": ["/a", "/b"] })).expect("two nouns");
    assert_eq!(nouns.len(), 2);

    for bad in [json!([]), json!(["/a", 1]), json!(["/a", "b"]), json!("/a"), json!(null)] {
        assert!(source.extract("p/t", &json!({ "paths": bad })).is_err(), "{bad}");
    }
}

#[test]
fn a_noun_that_is_no_string_is_missing() {
    let source = NounSource::at(NounKind::Path, "/path".into());

    for bad in [json!(1), json!(null), json!(["/a"]), json!({ "path": "/a" })] {
        assert!(source.extract("p/t", &json!({ "path": bad })).is_err(), "{bad}");
    }
    assert!(source.extract("p/t", &json!({})).is_err());
    assert!(source.extract("p/t", &json!([])).is_err());
}

#[test]
fn a_kind_has_an_entity_type_of_its_own() {
    let named = |word: &str| {
        let kind = NounKind::of(word.parse().expect("noun type")).expect("kind");
        kind.entity_type()
    };

    assert_eq!(named("path"), "Path");
    assert_eq!(named("mail_address"), "MailAddress");
    assert_eq!(named("s3"), "S3");
}
