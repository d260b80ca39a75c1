//! The latest calls.

use maud::{Markup, html};

use crate::public::view::{Call, Calls, words};

pub(super) fn section(path: &str, calls: &Calls) -> Markup {
    html! {
        section aria-labelledby="calls" {
            h2 id="calls" { "Latest calls" }
            @if calls.newest.is_empty() {
                p { "No call has been decided here." }
            } @else {
                (super::scroll("Latest calls", &html! {
                    table {
                        thead { tr {
                            th scope="col" { "entry" } th scope="col" { "time (UTC)" } th scope="col" { "call" }
                            th scope="col" { "verdict" } th scope="col" { "gateway saw" } th scope="col" { "provider signed" }
                            th scope="col" { "comparison" }
                        } }
                        tbody { @for call in &calls.newest { (row(path, call)) } }
                    }
                }))
            }
            @if let Some(below) = calls.older {
                p { a rel="next" href={"?calls=" (below) "#calls"} { "older calls" } }
            }
        }
    }
}

fn row(path: &str, call: &Call) -> Markup {
    let bad = call.status.as_deref().is_some_and(words::is_bad);
    html! {
        tr {
            @match &call.said.decided {
                Some(decided) => {
                    th.n scope="row" { a href={(path) "/a/" (decided.action)} { (call.seq) } }
                    td.n { (decided.at) }
                    td { (decided.act) }
                    td { span class={"tag " (decided.verdict)} { (decided.verdict) } " " span.soft { (decided.why) } }
                },
                None => { th.n scope="row" { (call.seq) } td {} td { "body erased" } td {} },
            }
            td { (call.said.observed.as_deref().unwrap_or("–")) }
            td {
                @if call.said.executed.is_empty() { "–" }
                @for (place, said) in call.said.executed.iter().enumerate() {
                    @if place > 0 { ", " }
                    (said.outcome) @if !said.holds { " (signature does not hold)" }
                }
            }
            td class=(if bad { "bad" } else { "" }) {
                (call.words) @if let Some(due) = call.due { ", due " (due) }
            }
        }
    }
}
