//! Changed tools: what was pinned, and what is listed in its place.

use maud::{Markup, html};

use crate::public::view::ToolChange;

pub(super) fn section(changes: &[ToolChange]) -> Markup {
    html! {
        @if !changes.is_empty() {
            section aria-labelledby="changes" {
                h2 id="changes" { "Changed tools" }
                p.soft {
                    "These tools are not listed as they were when somebody reviewed them. Agents are shown the reviewed \
                     words, and every call is held until the tool is reviewed again. The lines are the provider's own; the \
                     decision that was held names both digests."
                }
                @for change in changes { (one(change)) }
            }
        }
    }
}

fn one(change: &ToolChange) -> Markup {
    let name = format!("{}: {}", change.provider, change.tool);
    html! {
        article.card aria-label={"Changed tool " (name)} {
            h3 { (name) }
            p.soft { "pinned " code { (change.pinned) } ", listed " code { (change.listed) } ", last met " (change.at) }
            @if change.lines.is_empty() {
                p { "The reviewed words were never met by a gateway, so what differs cannot be shown." }
            } @else {
                (super::scroll(&format!("Difference of {name}"), &html! {
                    table.diff {
                        thead { tr { th scope="col" { "line" } th scope="col" { "words" } } }
                        tbody {
                            @for line in &change.lines {
                                tr {
                                    th scope="row" { (if line.sign == "-" { "− reviewed" } else { "+ listed" }) }
                                    td { code { (line.text) } }
                                }
                            }
                        }
                    }
                }))
                @if change.more > 0 { p.soft { (change.more) " more lines differ." } }
            }
        }
    }
}
