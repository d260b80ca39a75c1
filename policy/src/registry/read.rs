//! From the words of the file to a registry. Every defect that is left is reported, with the path of its place.

use super::file::{FieldKind, FieldText, NounText, ProviderText, RegistryText, Store, ToolText};
use super::{Dimensions, Field, Provider, Registry, Tool};
use crate::label;
use crate::lint::LintError;
use crate::noun::{NounKind, NounSource};
use counterfoil_core::id::{ProviderId, ToolName};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// RECORD: a statement is late ten minutes after the observation unless the entry says otherwise.
const SIGN_WITHIN: Duration = Duration::from_secs(600);
/// Thirty days. Longer than that nobody is waiting any more.
const LONGEST_SIGN_WITHIN: u64 = 30 * 24 * 3600;
const MAX_SOURCES: usize = 16;
const MAX_FIELDS: usize = 32;

struct Defects(Vec<LintError>);

impl Defects {
    fn add(&mut self, place: &str, what: impl Into<String>) {
        self.0.push(LintError::text(format!("registry: {place}"), what));
    }
}

pub(super) fn registry(text: RegistryText) -> Result<Registry, Vec<LintError>> {
    let mut defects = Defects(Vec::new());
    if text.v != 1 {
        defects.add("v", format!("version {} is not known, only 1", text.v));
    }

    let mut providers = BTreeMap::new();
    for (id, provider_text) in text.provider {
        let provider = provider(&id, provider_text, text.store, &mut defects);
        providers.insert(id.to_string(), provider);
    }
    one_resource_each(&providers, &mut defects);
    fields_agree(&providers, &mut defects);

    if defects.0.is_empty() { Ok(Registry { store: text.store, providers }) } else { Err(defects.0) }
}

fn provider(id: &ProviderId, text: ProviderText, store: Store, defects: &mut Defects) -> Provider {
    let store = text.store.unwrap_or(store);
    let place = format!("provider.{id}");
    if let Some(resource) = &text.resource
        && !label::is_resource(resource)
    {
        defects.add(
            &format!("{place}.resource"),
            format!("`{resource}` is not a URI of printable ASCII, at most 256 long"),
        );
    }
    let sign_within = match text.sign_within {
        None => SIGN_WITHIN,
        Some(seconds @ 1..=LONGEST_SIGN_WITHIN) => Duration::from_secs(seconds),
        Some(seconds) => {
            let range = format!("{seconds} is not between 1 and {LONGEST_SIGN_WITHIN} seconds");
            defects.add(&format!("{place}.sign_within"), range);
            SIGN_WITHIN
        }
    };

    let tools = text
        .tool
        .into_iter()
        .map(|(name, tool_text)| {
            let place = format!("{place}.tool.{name}");
            (name.to_string(), tool(&place, name, tool_text, store, defects))
        })
        .collect();
    Provider {
        id: id.clone(),
        resource: text.resource,
        capability: text.capability,
        receipt: text.receipt,
        signs: text.signs,
        sign_within,
        store,
        tools,
    }
}

fn tool(place: &str, name: ToolName, text: ToolText, store: Store, defects: &mut Defects) -> Tool {
    Tool {
        name,
        nouns: nouns(&format!("{place}.nouns"), text.nouns, defects),
        fields: fields(&format!("{place}.fields"), text.fields, defects),
        service: text.service,
        verb: text.verb,
        pin: text.pin,
        store: text.store.unwrap_or(store),
        shown_to: text.shown_to,
        dimensions: Dimensions {
            operation: text.operation,
            data_class: text.data_class,
            destination: text.destination,
            magnitude: text.magnitude,
            reversibility: text.reversibility,
        },
        risk: text.risk,
        harmless: text.harmless,
        redact: text.redact,
    }
}

fn nouns(place: &str, texts: Vec<NounText>, defects: &mut Defects) -> Vec<NounSource> {
    if texts.is_empty() || texts.len() > MAX_SOURCES {
        defects.add(
            place,
            format!(
                "a tool has 1 to {MAX_SOURCES} nouns; \
                 write `{{ type = \"tool\" }}` where its reach is the tool itself"
            ),
        );
    }

    let mut nouns = Vec::new();
    for (i, text) in texts.into_iter().enumerate() {
        match noun(text) {
            Ok(noun) => nouns.push(noun),
            Err(what) => defects.add(&format!("{place}[{i}]"), what),
        }
    }
    if nouns.len() > 1 && nouns.iter().any(|n| n.kind() == &NounKind::Tool) {
        defects.add(place, "`tool` stands alone or not at all");
    }
    nouns
}

fn noun(text: NounText) -> Result<NounSource, String> {
    let kind = NounKind::of(text.r#type)?;
    match (kind, text.at, text.each) {
        (NounKind::Tool, None, None) => Ok(NounSource::itself()),
        (NounKind::Tool, _, _) => Err("`tool` takes no pointer".to_owned()),
        (kind, Some(at), None) => pointer(at).map(|at| NounSource::at(kind, at)),
        (kind, None, Some(each)) => pointer(each).map(|each| NounSource::each(kind, each)),
        (_, None, None) | (_, Some(_), Some(_)) => Err("a noun has either `at` or `each`".to_owned()),
    }
}

fn pointer(text: String) -> Result<String, String> {
    if label::is_pointer(&text) {
        Ok(text)
    } else {
        Err(format!("`{text}` is not a JSON pointer below the arguments, such as `/path`"))
    }
}

fn fields(place: &str, texts: BTreeMap<String, FieldText>, defects: &mut Defects) -> BTreeMap<String, Field> {
    if texts.len() > MAX_FIELDS {
        defects.add(place, format!("more than {MAX_FIELDS} fields"));
    }
    let mut fields = BTreeMap::new();
    for (name, text) in texts {
        let place = format!("{place}.{name}");
        if !label::is_field(&name) {
            defects.add(&place, "a field name is `[a-z][a-z0-9_]{0,31}`");
        }
        match pointer(text.at) {
            Ok(at) => {
                fields.insert(name, Field { at, kind: text.r#type });
            }
            Err(what) => defects.add(&place, what),
        }
    }
    fields
}

/// Two providers under one audience could use each other's capabilities.
fn one_resource_each(providers: &BTreeMap<String, Provider>, defects: &mut Defects) {
    let mut seen = BTreeSet::new();
    for provider in providers.values() {
        if let Some(resource) = &provider.resource
            && !seen.insert(resource)
        {
            defects.add(
                &format!("provider.{}.resource", provider.id),
                format!("`{resource}` belongs to another provider already"),
            );
        }
    }
}

/// One action has one context type, so tools of one action must not give a field two types.
fn fields_agree(providers: &BTreeMap<String, Provider>, defects: &mut Defects) {
    let mut kinds: BTreeMap<(String, &String), FieldKind> = BTreeMap::new();
    for provider in providers.values() {
        for tool in provider.tools.values() {
            for (name, field) in &tool.fields {
                let kind = *kinds.entry((tool.action(), name)).or_insert(field.kind);
                if kind != field.kind {
                    defects.add(
                        &format!("provider.{}.tool.{}.fields.{name}", provider.id, tool.name),
                        format!("another tool of `{}` gives it another type", tool.action()),
                    );
                }
            }
        }
    }
}
