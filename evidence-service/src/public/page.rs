//! The evidence page of a project, as HTML. Pure: what it shows is an argument.
//!
//! No script, no form, nothing from another origin; the style sheet is part of the page and named by its hash in the
//! Content-Security-Policy.

use counterfoil_core::checkpoint::Checkpoint;
use counterfoil_core::note::Note;
use counterfoil_core::statement::Environment;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::projection::PublicEntry;
use super::store::AuditRow;
use crate::ledger::Project;

pub(super) const STYLE: &str = include_str!("page.css");

/// Everything on the page.
pub(super) struct Page<'a> {
    pub(super) project: &'a Project,
    pub(super) entries: &'a [PublicEntry],
    pub(super) checkpoint: Option<Checkpoint>,
    pub(super) audit: Option<AuditRow>,
    /// Why the project takes no entries now, if it takes none.
    pub(super) stopped: Option<String>,
    /// The seq that the next page lies below; none on the last page.
    pub(super) next: Option<u64>,
}

pub(super) fn render(page: &Page<'_>) -> Markup {
    let Page { project, .. } = page;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                title { "Evidence · " (project.name) " · Counterfoil" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { span.brand { "Counterfoil" } }
                main {
                    h1 { (project.name) " " span.soft { (environment(project.env)) } }
                    p {
                        "Calls that reach the gateway are decided by published rules before they run. This page lists \
                         what was recorded about them: the decision that the gateway signed before anything was sent, \
                         and what it saw come back."
                    }
                    (state(page))
                    (trouble(page))
                    (list(page))
                    (the_record(page))
                    (cannot_prove())
                }
                (footer(project))
            }
        }
    }
}

/// The size and root of a note, if it reads.
pub(super) fn checkpoint_of(note: &str) -> Option<Checkpoint> {
    Checkpoint::parse(&Note::parse(note).ok()?).ok()
}

fn environment(env: Environment) -> &'static str {
    match env {
        Environment::Live => "live",
        Environment::Test => "test",
    }
}

fn state(page: &Page<'_>) -> Markup {
    let size = page.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.size);
    html! {
        section.state aria-label="State of the record" {
            div { b { (size) } "entries, one chain, one Merkle log" }
            @match &page.audit {
                Some(AuditRow { broken: None, at, size }) => {
                    div.ok { b { "consistent" } "by this server's own audit of " (size) " entries at " (at) }
                }
                Some(AuditRow { broken: Some(_), at, .. }) => {
                    div.bad { b { "BROKEN_CHAIN" } "found by this server's own audit at " (at) }
                }
                None => div { b { "not audited" } "since this project was made" },
            }
        }
    }
}

fn trouble(page: &Page<'_>) -> Markup {
    let broken = page.audit.as_ref().and_then(|audit| audit.broken.as_deref());
    html! {
        @if let Some(place) = broken {
            article.card.bad {
                b { "BROKEN_CHAIN" }
                p { "The stored record is not what was signed and numbered: " (place) "." }
            }
        }
        @if let Some(why) = &page.stopped {
            article.card.bad {
                b { "Read-only" }
                p { "Nothing is recorded, so nothing is allowed: " (why) "." }
            }
        }
    }
}

fn list(page: &Page<'_>) -> Markup {
    html! {
        h2 { "Latest entries" }
        div.scroll {
            table {
                thead { tr { th { "entry" } th { "time (UTC)" } th { "kind" } th { "about" } th { "verdict" } th { "detail" } } }
                tbody {
                    @for entry in page.entries {
                        tr {
                            td.n { (entry.seq) }
                            td.n { (entry.at) }
                            td { (entry.kind) }
                            td { (entry.about) }
                            td { @if let Some(verdict) = entry.verdict { span class={"tag " (verdict)} { (verdict) } } }
                            td title=(entry.digest) { (entry.detail) }
                        }
                    }
                }
            }
        }
        @if let Some(below) = page.next {
            p { a rel="next" href={"?below=" (below)} { "older entries" } }
        }
    }
}

fn the_record(page: &Page<'_>) -> Markup {
    html! {
        h2 { "The record" }
        @if let Some(checkpoint) = &page.checkpoint {
            p {
                (checkpoint.size) " entries under root " code { (checkpoint.root) } ", signed by the log key of "
                code { (checkpoint.origin) } ". No witness has cosigned it: that it was not shortened since somebody \
                else looked is shown by the receipts and checkpoints that others keep."
            }
        }
        pre { "counterfoil verify receipt.json --trust jwks.json" }
    }
}

/// P10: said where the evidence is, not in a manual.
fn cannot_prove() -> Markup {
    html! {
        h2 { "What this page cannot prove" }
        ul {
            li { "A call made around the gateway, to a provider that does not demand the capability, leaves no trace here. Coverage is neither declared nor probed yet." }
            li { "That nobody read the arguments: they pass through the gateway in clear, and results reach an agent that nobody contains." }
            li { "That an action was what a person wanted. Rules judge what is asked, not why." }
            li { "That a provider did what it was asked. No provider signs its own statement here yet; an observation is the gateway's word." }
            li { "Who acted: a key names an agent, not a model and not a person." }
            li { "Where this server runs with " code { "counterfoil dev" } ", whoever uses the machine can act as its operator." }
        }
    }
}

fn footer(project: &Project) -> Markup {
    let path = project.issuer.page_path();
    html! {
        footer {
            "Keys: " a href={(path) "/jwks.json"} { "jwks.json" } " · "
            a href={(path) "/checkpoint"} { "keep this checkpoint" } " · "
            "No personal data is on this page by construction: it shows labels, codes, times and digests only."
        }
    }
}
