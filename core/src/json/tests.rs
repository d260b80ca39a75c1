use super::*;
use proptest::prelude::*;
use serde_json::json;

fn refusal(text: &str, profile: Profile) -> String {
    parse(text.as_bytes(), profile).expect_err("must be refused").to_string()
}

#[test]
fn a_refusal_names_the_place() {
    let cases = [
        (r#"{"a":1,"a":2}"#, "`$.a`: duplicate key"),
        (r#"{"a":1,"\u0061":2}"#, "`$.a`: duplicate key"),
        (r#"{"a":[{"b":"\ud800"}]}"#, "`$.a[0].b`: lone surrogate or malformed string"),
        (r#"{"a b":[9007199254740993]}"#, "`$[\"a b\"][0]`: integer beyond ±(2^53−1)"),
        ("[1e400]", "`$[0]`: number is not a finite double"),
        ("[NaN]", "`$[0]`: not JSON (unexpected character)"),
        ("[1,]", "`$[1]`: not JSON (unexpected character)"),
        ("{}x", "`$`: not JSON (text after the end)"),
        ("\u{feff}{}", "`$`: not JSON (unexpected character)"),
        ("[01]", "`$`: not JSON (expected `,` or `]`)"),
        (r#"["\"#, "`$[0]`: not JSON (unterminated string)"),
    ];
    for (text, wanted) in cases {
        assert_eq!(refusal(text, Profile::Foreign), wanted, "{text}");
    }
}

#[test]
fn the_strict_profile_refuses_what_other_languages_print_differently() {
    assert_eq!(refusal(r#"{"n":0.5}"#, Profile::Strict), "`$.n`: fractional number in a signed document");
    assert_eq!(refusal(r#"{"é":1}"#, Profile::Strict), "`$[\"é\"]`: key is not ASCII");
    for text in [r#"["\u0007"]"#, "[\"\u{2028}\"]", r#"["\u2029"]"#] {
        assert!(refusal(text, Profile::Strict).contains("control or line separator"));
    }
    let large = format!("[\"{}\"]", "x".repeat(MAX_STRICT));
    assert_eq!(refusal(&large, Profile::Strict), "`$`: larger than 65536 bytes");
}

#[test]
fn sixty_four_levels_are_read_and_sixty_five_refused() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));

    assert!(parse(nested(64).as_bytes(), Profile::Foreign).is_ok());
    assert!(refusal(&nested(65), Profile::Foreign).ends_with("nesting deeper than 64"));
    assert!(refusal(&nested(100_000), Profile::Foreign).ends_with("nesting deeper than 64"));
}

#[test]
fn invalid_utf8_is_refused() {
    let error = parse(b"[\"\xff\"]", Profile::Foreign).expect_err("must be refused");
    assert_eq!(error.reason(), &JsonReason::NotUtf8);
}

#[test]
fn a_document_cannot_smuggle_a_number_through_a_private_key() {
    // Would come out as {"a":7} if any crate switched on serde_json's `arbitrary_precision`.
    let text = br#"{"a":{"$serde_json::private::Number":"7"}}"#;
    let value = parse(text, Profile::Foreign).expect("plain JSON");
    assert_eq!(canonical(&value), text);
}

#[test]
fn canonical_form_follows_rfc_8785() {
    let cases = [
        ("[-0,-0.0,0e10,1.0,1e2,1E30]", "[0,0,0,1,100,1e+30]"),
        (r#"{"10":1,"9":2,"1":3}"#, r#"{"1":3,"10":1,"9":2}"#),
        (
            r#"["\u0000\b\t\n\u000b\f\r\u001f\u007f\/\"\\"]"#,
            "[\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\u{7f}/\\\"\\\\\"]",
        ),
        ("{ }\n", "{}"),
    ];
    for (text, wanted) in cases {
        let value = parse(text.as_bytes(), Profile::Foreign).expect("good JSON");
        assert_eq!(canonical_text(&value), wanted);
    }
}

#[test]
fn keys_sort_by_utf16_code_units() {
    let value = json!({"\u{1f600}": 1, "\u{fb33}": 2, "\u{e000}": 4, "\u{d7ff}": 5});
    let text = canonical_text(&value);
    let order: Vec<char> = text.chars().filter(|c| !c.is_ascii()).collect();
    assert_eq!(order, ['\u{d7ff}', '\u{1f600}', '\u{e000}', '\u{fb33}']);
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        (-MAX_INTEGER..=MAX_INTEGER).prop_map(Into::into),
        any::<f64>().prop_filter("finite", |d| d.is_finite()).prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 64, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            proptest::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn four_canonicalisers_agree_and_reading_back_changes_nothing(value in any_json()) {
        let ours = canonical(&value);
        let theirs = serde_json_canonicalizer::to_vec(&value).expect("canonicalises");
        prop_assert_eq!(&ours, &theirs);
        prop_assert_eq!(&canonical_value(&value), &theirs);
        prop_assert_eq!(&serde_jcs::to_vec(&value).expect("canonicalises"), &theirs);

        // Large doubles print as integers ("100000000000000000000"); those the parser refuses on purpose.
        if let Ok(again) = parse(&ours, Profile::Foreign) {
            prop_assert_eq!(canonical(&again), ours);
        }
    }
}

/// Every shape that a statement of ours may have.
#[derive(serde::Serialize)]
struct Shapes {
    zebra: Option<u8>,
    apple: Option<&'static str>,
    unit: (),
    pair: (i32, char),
    new: Newtype,
    variant: Variant,
    wrapped: Variant,
    #[serde(rename = "ünder\"line")]
    odd: std::collections::BTreeMap<Variant, u64>,
    #[serde(flatten)]
    more: std::collections::HashMap<String, f32>,
    big: u64,
    bigger: i64,
    bytes: Vec<u8>,
}

#[derive(serde::Serialize)]
struct Newtype(bool);

#[derive(Eq, Ord, PartialEq, PartialOrd, serde::Serialize)]
enum Variant {
    Second,
    #[serde(rename = "first\n")]
    First,
    Wrapped(u8),
}

#[test]
fn typed_documents_come_out_as_two_others_write_them() {
    let shapes = Shapes {
        zebra: None,
        apple: Some("\u{1f600}\u{7}\\"),
        unit: (),
        pair: (-7, 'é'),
        new: Newtype(true),
        variant: Variant::First,
        wrapped: Variant::Wrapped(3),
        odd: [(Variant::Second, 1), (Variant::First, 2)].into(),
        more: [("k\u{fb33}".to_owned(), 0.5), ("k\u{1f600}".to_owned(), 1e30)].into(),
        big: u64::MAX,
        bigger: MAX_INTEGER + 2,
        bytes: vec![1, 2],
    };

    let ours = canonical_text(&shapes);

    assert_eq!(ours, serde_jcs::to_string(&shapes).expect("canonicalises"));
    assert_eq!(ours, serde_json_canonicalizer::to_string(&shapes).expect("canonicalises"));
}

#[test]
fn a_document_with_two_members_of_one_name_is_never_written() {
    struct Twice;
    impl serde::Serialize for Twice {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map([("a", 1), ("b", 2), ("a", 3)])
        }
    }
    assert!(serializer::write(&Twice, &mut Vec::new()).is_err());
    let numbered = std::collections::BTreeMap::from([(1, 2)]);
    assert!(serializer::write(&numbered, &mut Vec::new()).is_err());
}
