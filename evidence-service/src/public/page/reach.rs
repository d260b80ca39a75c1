//! What this agent may do at most.

use maud::{Markup, html};

use crate::public::projection::PublishedText;
use crate::public::view::{Change, Reach, SaidRule};

pub(super) fn section(path: &str, reach: &Reach) -> Markup {
    html! {
        section aria-labelledby="reach" {
            h2 id="reach" { "What this agent may do at most" }
            @match &reach.sentences {
                Some(sentences) if sentences.is_empty() => p { "No rule allows, holds or denies anything by name." },
                Some(sentences) => (list(sentences)),
                None if reach.rules.is_none() || reach.registry.is_none() => {
                    p { "Nothing is published, so nothing is allowed." }
                },
                None => p { "This build cannot read the published rules; their digests stand below." },
            }
            ul { @for sentence in &reach.always { li { (sentence) } } }
            p {
                @if reach.grants == 0 { "No grant of a person stands beside the rules. " }
                @else { (reach.grants) " grants of people stand beside the rules, each until its date. " }
                span.soft {
                    "Read out of the published rules; nouns, texts and values of a rule are its own and not shown here. "
                    (published("Rules", reach.rules.as_ref())) " " (published("Registry", reach.registry.as_ref()))
                }
            }
            (changes(path, reach))
        }
    }
}

fn list(sentences: &[SaidRule]) -> Markup {
    html! {
        ul {
            @for rule in sentences {
                li {
                    (rule.text) " "
                    @if rule.ended { b { "It has ended." } " " }
                    span.soft title=(rule.digest) { "rule " (rule.rule) }
                }
            }
        }
    }
}

fn published(what: &str, text: Option<&PublishedText>) -> Markup {
    html! {
        @if let Some(text) = text {
            (what) " " code { (text.document) } ", entry " (text.seq) ", control " (text.control) ", " (text.at)
            ", bundle " code { (text.policy) } "."
        }
    }
}

fn changes(path: &str, reach: &Reach) -> Markup {
    html! {
        h3 { "Changes" }
        form method="get" action={(path) "#reach"} {
            label { "From the end of " input type="date" name="from" required value=[reach.change.as_ref().map(|change| &change.from)]; }
            label { "to the end of " input type="date" name="to" value=[reach.change.as_ref().map(|change| &change.to)]; }
            button type="submit" { "Compare" }
        }
        @if let Some(change) = &reach.change { (comparison(change)) }
        @if !reach.versions.is_empty() {
            (super::scroll("Publications of rules", &html! {
                table {
                    thead { tr {
                        th scope="col" { "entry" } th scope="col" { "time (UTC)" } th scope="col" { "control" }
                        th scope="col" { "rules" } th scope="col" { "reason given" }
                    } }
                    tbody {
                        @for version in &reach.versions {
                            tr {
                                th.n scope="row" { (version.seq) }
                                td.n { (version.at) }
                                td.n { (version.control) }
                                td { code { (version.document) } }
                                td { (version.reason.as_deref().unwrap_or("–")) }
                            }
                        }
                    }
                }
            }))
        }
    }
}

fn comparison(change: &Change) -> Markup {
    html! {
        p { "Between the end of " (change.from) " and the end of " (change.to) ": " (change.came.len()) " rules came, "
            (change.went.len()) " went, " (change.stayed) " stayed." }
        @if change.incomplete {
            p { "On one of the two days registry or rules were not published, or this build cannot read them." }
        }
        @if !change.came.is_empty() { h4 { "Came" } (list(&change.came)) }
        @if !change.went.is_empty() { h4 { "Went" } (list(&change.went)) }
    }
}
