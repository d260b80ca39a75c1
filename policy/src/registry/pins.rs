//! Writes the pins of listed definitions into a registry's text, keeping its comments and order.
//!
//! An operator has read these definitions and says: this is the tool that I classified. Tools that the text does not
//! name stay unknown; nothing here classifies.

use super::Registry;
use crate::lint::LintError;
use counterfoil_core::digest::Digest;
use toml_edit::{DocumentMut, Item, TableLike, value};

/// The text with `pin = "…"` set in each tool of `provider` that it names.
pub fn with_pins(
    registry_text: &str,
    provider: &str,
    pins: &[(String, Digest)],
) -> Result<String, Vec<LintError>> {
    Registry::parse(registry_text)?;
    let mut document: DocumentMut = registry_text
        .parse()
        .map_err(|e: toml_edit::TomlError| vec![LintError::text("registry", e.message())])?;

    for (tool, pin) in pins {
        if let Some(entry) = entry(&mut document, provider, tool) {
            entry.insert("pin", value(pin.to_string()));
        }
    }
    Ok(document.to_string())
}

fn entry<'a>(document: &'a mut DocumentMut, provider: &str, tool: &str) -> Option<&'a mut dyn TableLike> {
    let mut item: &mut Item = document.as_item_mut();
    for key in ["provider", provider, "tool", tool] {
        item = item.as_table_like_mut()?.get_mut(key)?;
    }
    item.as_table_like_mut()
}
