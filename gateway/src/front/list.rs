//! `tools/list`, and what providers say about themselves: asked of all at once, each within its own time.
//!
//! Promised: a provider that is dead, or hangs, costs its own tools and nobody else's, and the answer names it. What is
//! shown is what the shelf shows: pinned definitions, and no tool that is hidden from this agent.
//!
//!     {"tools":[…],"_meta":{"dev.counterfoil/away":{"mail":"could not be started"},"dev.counterfoil/changed":["notes__note_read"]}}

use super::address::{Address, is_awkward};
use super::endpoint::Exchange;
use super::methods::{catalogue_of, connection_to};
use super::refusal::{INTERNAL_ERROR, Refusal};
use super::reply::{self, Era};
use crate::answer::OURS;
use crate::envelope::Request;
use crate::house::{House, Provider};
use crate::raw::{Object, quoted};
use crate::shelf::Shown;
use crate::upstream::{Away, Holder};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// A list that all wait for. Hosts give up after thirty seconds and more.
const WITHIN: Duration = Duration::from_secs(10);
/// A provider that is slow to start should not make its host believe that we are dead.
const INTRODUCTION: Duration = Duration::from_secs(10);
/// Hosts may keep a list for half a minute; it differs between agents.
const LIST_TTL_MILLIS: u32 = 30_000;

pub async fn tools(exchange: &Exchange, request: &Request, era: Era) -> Result<Response, Refusal> {
    // Ours has one page, so every cursor is somebody else's.
    if !matches!(request.params.value().get("cursor"), None | Some(Value::Null)) {
        return Err(Refusal::bad_parameter("$.params.cursor", "unknown cursor"));
    }
    let list = match &exchange.address {
        Address::One(provider) => {
            let catalogue = catalogue_of(&exchange.house, exchange.caller.holder(), provider).await;
            let away = |away: Away| {
                Refusal::new(StatusCode::OK, INTERNAL_ERROR, format!("the tool provider {away}"))
            };
            let mut list = List::default();
            let catalogue = catalogue.map_err(away)?;
            list.add(exchange, provider, &catalogue)?;
            list
        }
        Address::All(_) => of_all(exchange).await?,
    };
    Ok(reply::result(&request.id, &list.text(exchange, era)))
}

async fn of_all(exchange: &Exchange) -> Result<List, Refusal> {
    let asked = each(
        exchange,
        (exchange.caller.holder(), WITHIN),
        |house: Arc<House>, holder, provider: Arc<Provider>| async move {
            catalogue_of(&house, holder, &provider).await
        },
    );
    let mut list = List::default();
    for (provider, catalogue) in asked.await {
        match catalogue {
            Ok(catalogue) => list.add(exchange, &provider, &catalogue)?,
            Err(away) => {
                list.away.insert(provider.id.to_string(), json!(away.to_string()));
            }
        }
    }
    Ok(list)
}

#[derive(Default)]
struct List {
    tools: Vec<String>,
    away: Map<String, Value>,
    changed: Vec<String>,
}

impl List {
    fn add(
        &mut self,
        exchange: &Exchange,
        provider: &Provider,
        catalogue: &crate::upstream::Catalogue,
    ) -> Result<(), Refusal> {
        // Callers are known by what decides, so it is known.
        let control = exchange.caller.project.control.known().ok_or_else(Refusal::internal)?;
        let (shelf, project) = (&exchange.house.shelf, exchange.caller.project.id);
        exchange.house.definitions.met((project, &provider.id), catalogue.tools().iter(), &control);
        let Shown { tools, changed } =
            shelf.shown(&provider.id, catalogue, (&control, exchange.caller.agent));
        let name_of = |tool: &str| exchange.address.name_of(&provider.id, tool);
        self.changed.extend(changed.iter().map(|tool| name_of(tool.as_str())));
        let mut awkward = 0;
        for (tool, text) in tools {
            let name = name_of(tool.as_str());
            awkward += u32::from(is_awkward(&name));
            match (&exchange.address, Object::read_loosely(&text)) {
                (Address::All(_), Ok(object)) => self.tools.push(object.with("name", &quoted(&name))),
                (Address::One(_), _) => self.tools.push(text),
                // A catalogue keeps objects alone.
                (Address::All(_), Err(_)) => {}
            }
        }
        if awkward > 0 {
            tracing::warn!(provider = %provider.id, awkward, "tools have names that some hosts shorten or rewrite");
        }
        Ok(())
    }

    fn text(self, exchange: &Exchange, era: Era) -> String {
        let mut meta = Map::new();
        if let Era::Modern = era {
            let info: Value =
                serde_json::from_str(&super::methods::server_info(exchange)).unwrap_or_default();
            meta.insert("io.modelcontextprotocol/serverInfo".into(), info);
        }
        if !self.away.is_empty() {
            meta.insert(format!("{OURS}away"), self.away.into());
        }
        if !self.changed.is_empty() {
            meta.insert(format!("{OURS}changed"), self.changed.into());
        }
        let meta = match meta.is_empty() {
            true => String::new(),
            false => format!(r#","_meta":{}"#, Value::Object(meta)),
        };
        let tools = self.tools.join(",");
        match era {
            Era::Legacy => format!(r#"{{"tools":[{tools}]{meta}}}"#),
            Era::Modern => format!(
                r#"{{"resultType":"complete","tools":[{tools}],"ttlMs":{LIST_TTL_MILLIS},"cacheScope":"private"{meta}}}"#
            ),
        }
    }
}

/// The `instructions` member of an introduction, with its comma, if there is anything to say.
pub async fn instructions(exchange: &Exchange, holder: Holder) -> String {
    let Some(control) = exchange.caller.project.control.known() else {
        return String::new();
    };
    let heard =
        each(exchange, (holder, INTRODUCTION), |house: Arc<House>, holder, provider: Arc<Provider>| {
            let control = control.clone();
            async move {
                let connection = connection_to(&house, holder, &provider).await?;
                Ok(house.shelf.instructions(&provider.id, connection.instructions(), &control))
            }
        });
    let heard = heard.await;
    let said = match (&exchange.address, heard.as_slice()) {
        (Address::One(_), [(_, Ok(Some(text)))]) => Some(text.clone()),
        (Address::One(_), _) => None,
        (Address::All(_), heard) => together(heard),
    };
    said.map_or(String::new(), |text| format!(r#","instructions":{text}"#))
}

/// Everybody's words under their own name, and who has none because it is away.
fn together(heard: &[Heard<Option<String>>]) -> Option<String> {
    let words: Vec<String> = heard
        .iter()
        .filter_map(|(provider, said)| match said {
            Ok(Some(text)) => {
                let text: String = serde_json::from_str(text).ok()?;
                Some(format!("{}: {text}", provider.id))
            }
            Ok(None) => None,
            Err(away) => Some(format!("{} {away}; its tools are missing.", provider.id)),
        })
        .collect();
    (!words.is_empty()).then(|| quoted(&words.join("\n\n")))
}

type Heard<T> = (Arc<Provider>, Result<T, Away>);

/// Asks every provider of the address at once. A question that takes too long goes on by itself, so that the next one
/// finds a child that has started meanwhile.
async fn each<T, F>(
    exchange: &Exchange,
    (holder, within): (Holder, Duration),
    ask: impl Fn(Arc<House>, Holder, Arc<Provider>) -> F,
) -> Vec<Heard<T>>
where
    T: Send + 'static,
    F: Future<Output = Result<T, Away>> + Send + 'static,
{
    let deadline = tokio::time::Instant::now() + within;
    let asked: Vec<_> = exchange
        .address
        .providers()
        .iter()
        .map(|provider| {
            let asking = ask(exchange.house.clone(), holder, provider.clone());
            (provider.clone(), tokio::spawn(asking))
        })
        .collect();
    let mut heard = Vec::with_capacity(asked.len());
    for (provider, asking) in asked {
        let said = match tokio::time::timeout_at(deadline, asking).await {
            Ok(Ok(said)) => said,
            Ok(Err(_)) => Err(Away::Gone),
            Err(_) => Err(Away::Late),
        };
        heard.push((provider, said));
    }
    heard
}
