//! Coverage: declared, measured, probed, and which.

use maud::{Markup, html};

use crate::public::view::{CoverageLine, Declared, Probed};

pub(super) fn section(lines: &[CoverageLine]) -> Markup {
    html! {
        section aria-labelledby="coverage" {
            h2 id="coverage" { "Coverage" }
            p {
                "Which providers can be reached around the gateway. What is " b { "declared" } " is the operator's word; what is "
                b { "measured" } " is what came by the gateway, and cannot show what did not; what is " b { "probed" }
                " was tried by a gateway: calls whose capability must be refused, to a tool that is marked harmless."
            }
            @if lines.is_empty() {
                p { "Nothing is declared, nothing was measured, nothing was probed." }
            } @else {
                (super::scroll("Coverage by provider", &html! {
                    table {
                        thead { tr {
                            th scope="col" { "provider" } th scope="col" { "share by the gateway" }
                            th scope="col" { "demands the capability" } th scope="col" { "signs" }
                            th scope="col" { "allowed calls (measured)" } th scope="col" { "probed" }
                        } }
                        tbody { @for line in lines { (row(line)) } }
                    }
                }))
            }
        }
    }
}

fn row(line: &CoverageLine) -> Markup {
    let measured = &line.measured;
    html! {
        tr {
            th scope="row" { (line.provider) }
            td { @match &line.declared { Some(declared) => (said(declared)), None => "not declared" } }
            td { @match line.registry {
                Some(terms) => { (yes(terms.capability)) " " span.soft { "declared in the registry" } },
                None => "not in the registry",
            } }
            td { @match line.registry {
                Some(terms) => { (yes(terms.signs)) " " span.soft { "declared in the registry" } },
                None => "–",
            } }
            td {
                (measured.allowed) ": " (measured.matched) " matched, " (measured.unsigned) " unsigned, "
                (measured.waiting) " waiting, " (measured.disagreeing) " in disagreement"
                @if measured.not_allowed > 0 { "; " (measured.not_allowed) " more not allowed" }
            }
            td { @match &line.probed { Some(probed) => (found(probed)), None => "not probed" } }
        }
    }
}

fn said(declared: &Declared) -> Markup {
    html! {
        (declared.share) " " span.soft {
            (declared.basis) " at " (declared.at) ", entry " (declared.seq)
            @if let Some(reason) = &declared.reason { ": " (reason) }
        }
    }
}

fn found(probed: &Probed) -> Markup {
    html! {
        @if probed.refused < probed.tried {
            strong.bad { "NOT ALL REFUSED: " } "probed, " (probed.refused) " of " (probed.tried) " refused"
        } @else {
            "probed, " (probed.refused) " of " (probed.tried) " refused"
        }
        @if !probed.passed.is_empty() { "; answered with a result: " (probed.passed.join(", ")) }
        @if !probed.unclear.is_empty() { "; unclear: " (probed.unclear.join(", ")) }
        " " span.soft { "at " (probed.at) ", tool " (probed.tool) ", entry " (probed.seq) }
    }
}

fn yes(it: bool) -> &'static str {
    if it { "yes" } else { "no" }
}
