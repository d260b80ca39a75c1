//! The table that foreign verifiers read must know the same words as the code.

use crate::docs;
use counterfoil_core::entry::Kind;
use counterfoil_core::statement::{
    Basis, DataClass, Destination, Environment, FindingCode, JsonType, KeyEvent, Magnitude, Mark,
    ObservationReason, ObservationStatus, Operation, Outcome, Reason, Removal, Reversibility, Share, Source,
    Statement, StatementError, Verb, Verdict,
};
use serde_json::{Value, json};

fn words<T: std::fmt::Display>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join("|")
}

#[test]
fn the_published_table_has_the_words_of_the_code() {
    let text = std::fs::read(docs().join("formats/examples/statements.json")).expect("the table is there");
    let table: Value = serde_json::from_slice(&text).expect("the table is JSON");
    let patterns = &table["patterns"];

    for (name, wanted) in [
        ("env", words(Environment::ALL)),
        ("verb", words(Verb::ALL)),
        ("operation", words(Operation::ALL)),
        ("data_class", words(DataClass::ALL)),
        ("destination", words(Destination::ALL)),
        ("magnitude", words(Magnitude::ALL)),
        ("reversibility", words(Reversibility::ALL)),
        ("source", words(Source::ALL)),
        ("json_type", words(JsonType::ALL)),
        ("verdict", words(Verdict::ALL)),
        ("reason", words(Reason::ALL)),
        ("mark", words(Mark::ALL)),
        ("status", words(ObservationStatus::ALL)),
        ("not_sent", words(ObservationReason::ALL)),
        ("event", words(KeyEvent::ALL)),
        ("outcome", words(Outcome::ALL)),
        ("share", words(Share::ALL)),
        ("basis", words(Basis::ALL)),
        ("removal", words(Removal::ALL)),
        ("code", words(FindingCode::ALL)),
    ] {
        assert_eq!(patterns[name], wanted, "{name}");
    }
}

/// A statement that the code reads and the table does not know would be called BROKEN by every foreign verifier.
#[test]
fn the_published_table_has_every_kind_of_statement() {
    let text = std::fs::read(docs().join("formats/examples/statements.json")).expect("the table is there");
    let table: Value = serde_json::from_slice(&text).expect("the table is JSON");
    let kinds = table["kinds"].as_object().expect("kinds by typ");

    let names = Kind::ALL.iter().map(Kind::to_string).chain(["received".into(), "execution".into()]);
    for typ in names.map(|name| format!("{name}/v1")) {
        let read = Statement::from_payload(&json!({ "typ": typ }));
        let known = !matches!(read, Err(StatementError::UnknownType(_)));
        assert_eq!(kinds.contains_key(&typ), known, "{typ}");
    }
}
