//! The evidence page as HTML. Pure: it shows a [`View`] and knows nothing else.
//!
//! No inline script, no form that writes, nothing from another origin; the style sheet is part of the page and named
//! by its hash in the Content-Security-Policy. Everything can be read without a script.

mod action;
mod calls;
mod changes;
mod coverage;
mod findings;
mod reach;
mod record;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::assets;
use super::view::{Named, Sum, View};
use crate::settings::Visibility;

pub(super) use action::render as render_action;

pub(super) const STYLE: &str = include_str!("page.css");

/// What every page begins and ends with.
struct Frame<'a> {
    project: &'a Named,
    visibility: Visibility,
    title: String,
    /// The same as JSON.
    json: String,
    /// Sections that a reader may jump to: id and name.
    sections: &'a [(&'a str, &'a str)],
}

const SECTIONS: &[(&str, &str)] = &[
    ("findings", "Findings"),
    ("counts", "Counts"),
    ("reach", "Rules"),
    ("answers", "Answers"),
    ("coverage", "Coverage"),
    ("calls", "Calls"),
    ("record", "Record"),
    ("keys", "Keys"),
    ("retention", "Retention"),
    ("cannot-prove", "Limits"),
    ("how", "Verify"),
];

pub(super) fn render(view: &View) -> Markup {
    let frame = Frame {
        project: &view.project,
        visibility: view.visibility,
        title: format!("Evidence · {} · Counterfoil", view.project.name),
        json: format!("{}.json", view.project.path),
        sections: SECTIONS,
    };
    framed(
        &frame,
        &html! {
            h1 { (view.project.name) " " span.soft { (view.project.env) } }
            p.soft { "The name is as declared by whoever runs this project; nobody verified it." }
            p {
                "Calls that reach the gateway are decided by published rules before they run. This page sets three \
                 statements about each call side by side: the decision that the gateway signed, what the gateway saw come \
                 back, and what the provider signed with its own key. Where they disagree, the disagreement stands first."
            }
            (state(view))
            (trouble(view))
            (findings::section(&view.project.path, &view.findings))
            (changes::section(&view.changes))
            (counts(view))
            (reach::section(&view.project.path, &view.reach))
            (answers(view))
            (coverage::section(&view.coverage))
            (calls::section(&view.project.path, &view.calls))
            (record::section(view))
            (record::keys(&view.keys))
            (record::retention(&view.retention))
            (cannot_prove(view))
            (how_to_verify(view))
        },
    )
}

fn framed(frame: &Frame<'_>, main: &Markup) -> Markup {
    let path = &frame.project.path;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                @if frame.visibility != Visibility::Public { meta name="robots" content="noindex"; }
                title { (frame.title) }
                link rel="alternate" type="application/json" href=(frame.json);
                style { (PreEscaped(STYLE)) }
                @if let Some(script) = assets::script() { script src=(script) defer {} }
            }
            body {
                a.skip href="#main" { "Skip to the evidence" }
                header {
                    span.brand { "Counterfoil" }
                    nav aria-label="On this page" {
                        ul {
                            @for (id, name) in frame.sections { li { a href={"#" (id)} { (name) } } }
                            li { a href=(frame.json) { "JSON" } }
                        }
                    }
                }
                main id="main" { (main) }
                footer {
                    p {
                        "Keys: " a href={(path) "/jwks.json"} { "jwks.json" } " · "
                        a href={(path) "/checkpoint"} { "keep this checkpoint" } " · "
                        a href={(path) "/entries.json"} { "entries with their statements" } " · "
                        a href="/assets/verify.html" { "verify.html, which works without a network" }
                    }
                    p {
                        "No personal data is on this page by construction: it shows labels, codes, times, digests and \
                         thumbprints only. What somebody asked, for whom, and what came back are salted commitments in \
                         the statements, and not even those are shown."
                    }
                }
            }
        }
    }
}

fn state(view: &View) -> Markup {
    let findings = &view.findings;
    let plus = if findings.open.more_than_counted { "+" } else { "" };
    html! {
        section.state aria-label="State of the record" {
            div class=(if findings.open.count > 0 { "bad" } else { "ok" }) {
                b { (findings.open.count) (plus) } "open findings, " (findings.ever) " ever"
            }
            div {
                b { (view.counts.verdicts.whole) } "decisions"
                @for part in &view.counts.verdicts.parts { " · " (part.count) " " (part.words) }
            }
            div {
                b { (view.record.size) } "entries, one chain, one Merkle log"
            }
            @match &view.record.audit {
                Some(audit) if audit.clean => {
                    div.ok { b { "consistent" } "by this server's own audit of " (audit.size) " entries at " (audit.at) }
                }
                Some(audit) => div.bad { b { "BROKEN_CHAIN" } "found by this server's own audit at " (audit.at) },
                None => div { b { "not audited" } "since this project was made" },
            }
        }
    }
}

fn trouble(view: &View) -> Markup {
    let trouble = &view.trouble;
    html! {
        @if let Some(place) = &trouble.broken {
            div.card.bad role="note" {
                p { b { "BROKEN_CHAIN" } }
                p { "The stored record is not what was signed and numbered: " (place) "." }
            }
        }
        @if let Some(why) = &trouble.read_only {
            div.card.bad role="note" {
                p { b { "Read-only" } }
                p { "Nothing is recorded, so nothing is allowed: " (why) "." }
            }
        }
        @if trouble.killed {
            div.card.bad role="note" {
                p { b { "Stopped" } }
                p { "This project was killed: from that entry on nothing is allowed. It was killed " (trouble.kills) " times." }
            }
        }
        @if !trouble.stopped.is_empty() {
            div.card.bad role="note" {
                p { b { "Stopped in part" } }
                p { "Killed, and nothing of theirs is allowed: " (trouble.stopped.join(", ")) "." }
            }
        }
        @if let Some(until) = &trouble.breakglass_until {
            div.card.bad role="note" {
                p { b { "Break-glass" } }
                p { "Until " (until) " calls run that nothing allows, each with a mark. What a rule refuses stays refused." }
            }
        }
        @if let Some(until) = &trouble.shadow_until {
            div.card.bad role="note" {
                p { b { "Rehearsal" } }
                p { "Until " (until) " what published rules refuse or hold is said and not enforced." }
            }
        }
    }
}

fn counts(view: &View) -> Markup {
    let counts = &view.counts;
    let row = |what: &str, sum: &Sum| {
        html! {
            tr {
                th scope="row" { (what) }
                td { (sum.written_out()) }
                td class=(if sum.adds_up { "ok" } else { "bad" }) { (if sum.adds_up { "adds up" } else { "does not add up" }) }
            }
        }
    };
    html! {
        section aria-labelledby="counts" {
            h2 id="counts" { "Counts, and whether they add up" }
            (scroll("Counts", &html! {
                table {
                    thead { tr { th scope="col" { "of" } th scope="col" { "parts = whole" } th scope="col" { "result" } } }
                    tbody {
                        (row("entries by kind", &counts.entries))
                        (row("decisions by verdict", &counts.verdicts))
                        (row("decisions by comparison", &counts.statuses))
                    }
                }
            }))
            p.soft {
                "A signed day says how many entries of each kind it has; the open day is counted beside the record. \
                 Verdicts and comparisons are sums of this server; every entry behind them can be read and counted again."
            }
        }
    }
}

fn answers(view: &View) -> Markup {
    html! {
        section aria-labelledby="answers" {
            h2 id="answers" { "Answers by people" }
            @if view.answers.count == 0 {
                p { "No person has answered a held call in this record." }
            } @else {
                p {
                    (view.answers.count) " answers of people to held calls stand in this record. "
                    @if view.answers.local > 0 {
                        b { "Of the newest " (view.answers.looked_at) ", " (view.answers.local) " are local" }
                        ": given by whoever runs programs on the machine of this deployment, who is known to nobody else."
                    }
                }
            }
        }
    }
}

fn cannot_prove(view: &View) -> Markup {
    html! {
        section aria-labelledby="cannot-prove" {
            h2 id="cannot-prove" { "What this page cannot prove" }
            ul { @for item in &view.cannot_prove { li { (item) } } }
        }
    }
}

fn how_to_verify(view: &View) -> Markup {
    let verify = &view.verify;
    html! {
        section aria-labelledby="how" {
            h2 id="how" { "How to verify" }
            p { "Offline, with the program of your own machine and the keys that you pinned:" }
            pre tabindex="0" aria-label="Commands" { code { @for line in &verify.commands { (line) "\n" } } }
            h3 { "In this page" }
            div id="verify" data-entries=(verify.entries) data-checkpoint=(verify.checkpoint) data-jwks=(verify.jwks)
                data-iss=(view.project.iss) {
                p {
                    "A script can recompute signatures, chain and root from the bytes that this server serves. It comes from the \
                     same server, so this is weaker than the check above: a server that lies about the record can lie \
                     about the script."
                }
                noscript { p { "Scripts are off, so only the check above is there." } }
            }
        }
    }
}

/// A table that scrolls by itself on a narrow screen, by keyboard too.
fn scroll(name: &str, table: &Markup) -> Markup {
    // Named apart from the section around it: two regions of one name cannot be told apart by ear.
    html! { div.scroll role="region" aria-label={ "Table: " (name) } tabindex="0" { (table) } }
}
