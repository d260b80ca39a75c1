//! The table that foreign verifiers read must know the same words as the code.

use crate::docs;
use counterfoil_core::statement::{
    DataClass, Destination, Environment, JsonType, KeyEvent, Magnitude, Mark, ObservationReason,
    ObservationStatus, Operation, Reason, Reversibility, Source, Verb, Verdict,
};
use serde_json::Value;

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
    ] {
        assert_eq!(patterns[name], wanted, "{name}");
    }
}
