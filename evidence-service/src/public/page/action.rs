//! The page of one action.

use maud::{Markup, html};

use super::{Frame, findings, framed};
use crate::public::projection::{BodyShown, PublicEntry};
use crate::public::view::ActionView;

const SECTIONS: &[(&str, &str)] = &[("findings", "Findings"), ("entries", "Entries")];

pub(in crate::public) fn render(view: &ActionView) -> Markup {
    let path = &view.project.path;
    let frame = Frame {
        project: &view.project,
        visibility: view.visibility,
        title: format!("Action {} · {} · Counterfoil", view.action, view.project.name),
        json: format!("{path}/a/{}.json", view.action),
        sections: SECTIONS,
    };
    framed(
        &frame,
        &html! {
            p { a href=(path) { "Evidence of " (view.project.name) } }
            h1 { "Action " code { (view.action) } }
            p { (view.standing) }
            section aria-labelledby="sides" {
                h2 id="sides" { "The three sides" }
                (findings::stubs(&view.said))
            }
            section aria-labelledby="findings" {
                h2 id="findings" { "Findings" }
                @if view.findings.is_empty() { p { "None." } }
                @for standing in &view.findings { (findings::of_action(path, standing)) }
            }
            section aria-labelledby="entries" {
                h2 id="entries" { "Entries about it" }
                @for entry in &view.entries { (card(path, entry)) }
                @if let Some(from) = view.later {
                    p { a rel="next" href={"?from=" (from) "#entries"} { "later entries" } }
                }
            }
        },
    )
}

fn card(path: &str, entry: &PublicEntry) -> Markup {
    html! {
        article.card aria-label={"Entry " (entry.seq)} {
            h3 { "Entry " (entry.seq) ": " (entry.kind) }
            dl.facts {
                dt { "at" } dd { (entry.at) }
                @if let Some(verdict) = entry.verdict {
                    dt { "verdict" } dd { span class={"tag " (verdict)} { (verdict) } }
                }
                @if !entry.about.is_empty() { dt { "about" } dd { (entry.about) } }
                @if !entry.detail.is_empty() { dt { "says" } dd { (entry.detail) } }
                @for fact in &entry.facts { dt { (fact.name) } dd { (fact.value) } }
                dt { "signed by" }
                dd {
                    @match &entry.signer {
                        Some(kid) => { code { (kid) } ", checked by this server when it was numbered" },
                        None => "no key that counts here",
                    }
                }
                dt { "digest of the statement" } dd { code { (entry.digest) } }
                dt { "receipt" }
                dd {
                    @match entry.body {
                        BodyShown::Shown => a href={(path) "/receipts/" (entry.seq)} { "receipt-" (entry.seq) ".json" },
                        BodyShown::Withheld => "withheld: it is somebody else's form; the project's own key gets it",
                        BodyShown::Erased => "the body was erased; who kept a receipt can still verify it",
                        BodyShown::Unreadable => "the body does not read",
                    }
                }
            }
        }
    }
}
