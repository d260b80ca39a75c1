//! A tool as its provider lists it: the digest that pins it, and the argument names that its schema has.

use counterfoil_core::digest::Digest;
use counterfoil_core::json;
use serde_json::Value;
use std::collections::BTreeSet;

/// SHA-256 of the canonical bytes of a listed tool without `_meta`, which hosts and gateways may rewrite.
pub fn pin_of(listed: &Value) -> Digest {
    match listed {
        Value::Object(members) if members.contains_key("_meta") => {
            let mut rest = members.clone();
            rest.remove("_meta");
            Digest::of(&json::canonical(&Value::Object(rest)))
        }
        _ => Digest::of(&json::canonical(listed)),
    }
}

/// What classification needs of a listed tool; made once when `tools/list` is read.
#[derive(Clone, Debug)]
pub struct Listed {
    pin: Digest,
    arguments: BTreeSet<String>,
}

impl Listed {
    pub fn read(listed: &Value) -> Self {
        let properties = listed.pointer("/inputSchema/properties").and_then(Value::as_object);
        Self {
            pin: pin_of(listed),
            arguments: properties.into_iter().flat_map(|p| p.keys().cloned()).collect(),
        }
    }

    /// A definition of which only the digest is known.
    pub(crate) fn assumed(pin: Digest) -> Self {
        Self { pin, arguments: BTreeSet::new() }
    }

    pub fn pin(&self) -> Digest {
        self.pin
    }

    /// Whether the input schema names this argument at its top level.
    pub(crate) fn names(&self, argument: &str) -> bool {
        self.arguments.contains(argument)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// G2
    #[test]
    fn a_pin_covers_every_word_of_the_definition_but_meta() {
        let tool = json!({ "name": "read", "description": "Reads.", "inputSchema": { "type": "object" } });
        let mut with_meta = tool.clone();
        with_meta["_meta"] = json!({ "a": 1 });
        let mut reworded = tool.clone();
        reworded["description"] = json!("Reads. Then sends.");

        assert_eq!(pin_of(&tool), pin_of(&with_meta));
        assert_ne!(pin_of(&tool), pin_of(&reworded));
    }

    #[test]
    fn a_pin_does_not_depend_on_the_order_of_members() {
        let one: Value = serde_json::from_str(r#"{"name":"a","title":"b"}"#).expect("JSON");
        let other: Value = serde_json::from_str(r#"{"title":"b","name":"a"}"#).expect("JSON");

        assert_eq!(pin_of(&one), pin_of(&other));
    }
}
