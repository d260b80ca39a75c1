//! Findings, first on the page.

use maud::{Markup, html};

use crate::public::view::{Findings, Listed, Standing, Three};

pub(super) fn section(path: &str, findings: &Findings) -> Markup {
    html! {
        section aria-labelledby="findings" {
            h2 id="findings" { "Findings" }
            @if findings.open.newest.is_empty() {
                p { "No finding is open." }
            }
            @for standing in &findings.open.newest { (open(path, standing)) }
            @if let Some(below) = findings.open.older {
                p { a rel="next" href={"?findings=" (below) "#findings"} { "older open findings" } }
            }
            @if !findings.cleared.is_empty() {
                h3 { "Cleared" }
                p.soft { "What was missing came after all. A finding stays where it is." }
                (table("Cleared findings", path, &findings.cleared))
            }
            (apart(path, &findings.apart))
        }
    }
}

fn apart(path: &str, apart: &Listed) -> Markup {
    let plus = if apart.more_than_counted { "+" } else { "" };
    html! {
        @if apart.count > 0 {
            details {
                summary { "Apart: " (apart.count) (plus) " about forged or foreign statements" }
                p.soft {
                    "Whoever holds a key of this project's interface can send statements that nobody signed. They are kept, \
                     counted, and listed here by themselves; beyond twenty of one key in an hour no further one is written. \
                     The newest " (apart.newest.len()) " are shown."
                }
                (table("Findings about forged or foreign statements", path, &apart.newest))
            }
        }
    }
}

pub(super) fn open(path: &str, standing: &Standing) -> Markup {
    let finding = &standing.finding;
    html! {
        article.card.bad aria-label={"Finding of entry " (finding.seq)} {
            p {
                span.tag.finding { (finding.code) } " "
                span.soft { (finding.at) " · " a href={(path) "/receipts/" (finding.seq)} { "entry " (finding.seq) } }
            }
            p { (standing.meaning) @if let Some(seq) = finding.about { " About entry " (seq) "." } }
            @if let Some(call) = &standing.call { (stubs(call)) }
            @if let Some(note) = &standing.note {
                p { "Note of a person at " (note.at) ", which closes nothing: " q { (note.text.as_deref().unwrap_or("")) } }
            }
            @if let Some(action) = finding.action {
                p { a href={(path) "/a/" (action)} { "everything about this action" } }
            }
        }
    }
}

/// Three stubs joined by perforations; one that does not match is torn away.
pub(super) fn stubs(call: &Three) -> Markup {
    let ran = call.executed.iter().any(|said| said.holds);
    html! {
        div.receipt {
            div.stub {
                h3 { "Decided" }
                @match &call.decided {
                    Some(decided) => dl {
                        dt { "call" } dd { (decided.act) }
                        dt { "verdict" } dd { span class={"tag " (decided.verdict)} { (decided.verdict) } }
                        dt { "why" } dd { (decided.why) }
                    },
                    None => p.soft { "no decision here" },
                }
            }
            div.stub {
                h3 { "Observed" }
                dl {
                    dt { "gateway saw" }
                    dd { (call.observed.as_deref().unwrap_or("nothing yet, or nothing was sent")) }
                }
            }
            div class=(if ran { "stub torn" } else { "stub" }) {
                h3 { "Executed" }
                @if call.executed.is_empty() { p.soft { "nothing signed" } }
                @for said in &call.executed {
                    dl {
                        dt { "outcome" } dd { (said.outcome) }
                        dt { "signed" }
                        dd {
                            @match &said.signer {
                                Some(kid) => { code { (kid) } " " span.soft { "checked by this server" } },
                                None => "by no key that counts here",
                            }
                        }
                    }
                }
            }
        }
    }
}

fn table(name: &str, path: &str, standings: &[Standing]) -> Markup {
    super::scroll(
        name,
        &html! {
            table {
                thead { tr {
                    th scope="col" { "entry" } th scope="col" { "time (UTC)" } th scope="col" { "finding" }
                    th scope="col" { "about" } th scope="col" { "what became of it" }
                } }
                tbody {
                    @for standing in standings {
                        tr {
                            th.n scope="row" { (standing.finding.seq) }
                            td.n { (standing.finding.at) }
                            td { span.tag.finding { (standing.finding.code) } }
                            td {
                                @match (standing.finding.action, standing.finding.about) {
                                    (Some(action), about) => a href={(path) "/a/" (action)} {
                                        @match about { Some(seq) => { "entry " (seq) }, None => "its action" }
                                    },
                                    (None, Some(seq)) => { "entry " (seq) },
                                    (None, None) => "the record",
                                }
                            }
                            td { (became(standing)) }
                        }
                    }
                }
            }
        },
    )
}

fn became(standing: &Standing) -> Markup {
    html! {
        @match &standing.cleared {
            Some(cleared) => { "cleared by entry " (cleared.seq) ", " (cleared.at) },
            None => "open",
        }
        @if let Some(note) = &standing.note { "; note: " q { (note.text.as_deref().unwrap_or("")) } }
    }
}

/// A finding on the page of its own action, where the three sides stand already.
pub(super) fn of_action(path: &str, standing: &Standing) -> Markup {
    let finding = &standing.finding;
    html! {
        article class=(if standing.cleared.is_some() { "card" } else { "card bad" }) aria-label={"Finding of entry " (finding.seq)} {
            p {
                span.tag.finding { (finding.code) } " "
                span.soft { (finding.at) " · " a href={(path) "/receipts/" (finding.seq)} { "entry " (finding.seq) } }
            }
            p { (standing.meaning) @if let Some(seq) = finding.about { " About entry " (seq) "." } }
            p { (became(standing)) }
        }
    }
}
