//! The record, its keys, and how long bodies stay.

use counterfoil_core::entry::Kind;
use counterfoil_core::statement::KeyEvent;
use maud::{Markup, html};

use crate::public::projection::{BodyShown, PublicEntry};
use crate::public::view::{KeyLife, Retention, View};

pub(super) fn section(view: &View) -> Markup {
    let record = &view.record;
    html! {
        section aria-labelledby="record" {
            h2 id="record" { "The record" }
            @if let Some(root) = &record.root {
                p {
                    (record.size) " entries under root " code { (root) } ", signed by the log key of " code { (view.project.iss) }
                    ". No witness has cosigned it: that it was not shortened since somebody else looked is shown by the \
                     receipts and checkpoints that others keep."
                }
                pre tabindex="0" aria-label="Checkpoint" { (record.checkpoint) }
            }
            p { (record.days) " days are closed; entries from " (record.today_first) " on are of the open day." }
            @if !record.newest_days.is_empty() {
                (super::scroll("Closed days", &html! {
                    table {
                        thead { tr {
                            th scope="col" { "day (UTC)" } th scope="col" { "entries" } th scope="col" { "decisions" }
                            th scope="col" { "observations" } th scope="col" { "executions" } th scope="col" { "findings" }
                        } }
                        tbody {
                            @for day in &record.newest_days {
                                @let of = |kind: Kind| day.counts.get(&kind).copied().unwrap_or(0);
                                tr {
                                    th.n scope="row" { (day.day) }
                                    td.n { (day.first) "–" (day.last) }
                                    td.n { (of(Kind::Decision)) } td.n { (of(Kind::Observation)) }
                                    td.n { (of(Kind::Execution)) } td.n { (of(Kind::Finding)) }
                                }
                            }
                        }
                    }
                }))
            }
            h3 { "Latest entries" }
            (super::scroll("Latest entries", &html! {
                table {
                    thead { tr {
                        th scope="col" { "entry" } th scope="col" { "time (UTC)" } th scope="col" { "kind" }
                        th scope="col" { "about" } th scope="col" { "verdict" } th scope="col" { "detail" }
                    } }
                    tbody { @for entry in &record.entries { (row(&view.project.path, entry)) } }
                }
            }))
            @if let Some(below) = record.older {
                p { a rel="next" href={"?below=" (below) "#record"} { "older entries" } }
            }
        }
    }
}

fn row(path: &str, entry: &PublicEntry) -> Markup {
    html! {
        tr {
            th.n scope="row" {
                @if entry.body == BodyShown::Shown { a href={(path) "/receipts/" (entry.seq)} { (entry.seq) } }
                @else { (entry.seq) }
            }
            td.n { (entry.at) }
            td { (entry.kind) }
            td { (entry.about) }
            td { @if let Some(verdict) = entry.verdict { span class={"tag " (verdict)} { (verdict) } } }
            td { (entry.detail) }
        }
    }
}

pub(super) fn keys(lives: &[KeyLife]) -> Markup {
    html! {
        section aria-labelledby="keys" {
            h2 id="keys" { "Keys" }
            (super::scroll("Keys", &html! {
                table {
                    thead { tr {
                        th scope="col" { "fingerprint (RFC 7638)" } th scope="col" { "purpose" } th scope="col" { "provider" }
                        th scope="col" { "from" } th scope="col" { "until" }
                    } }
                    tbody {
                        @for life in lives {
                            tr {
                                th scope="row" { code { (life.thumbprint) } }
                                td { (life.purpose) }
                                td { (life.provider.as_deref().unwrap_or("–")) }
                                td { (life.introduced.at) ", entry " (life.introduced.seq) }
                                td { @match &life.ended {
                                    Some(ended) => {
                                        @if ended.event == KeyEvent::Revoked { b { "revoked " } } @else { "retired " }
                                        (ended.place.at) ", entry " (ended.place.seq)
                                        @if let Some(since) = ended.compromised_since { "; said to be compromised since " (since) }
                                    },
                                    None => "in force",
                                } }
                            }
                        }
                    }
                }
            }))
            p.soft {
                "A signature counts if the entry that introduced its key stands before it, and none that ended it does. A key that \
                 is only found here was vouched for by nobody but this operator: compare fingerprints with those that the \
                 gateway and the providers publish themselves."
            }
        }
    }
}

pub(super) fn retention(retention: &Retention) -> Markup {
    html! {
        section aria-labelledby="retention" {
            h2 id="retention" { "Retention" }
            p {
                "Bodies of calls are kept for " (retention.days) " whole days after their own, then emptied under a tombstone; \
                 what a provider still owes is waited for."
                " Entries, findings, keys and published digests stay. " (retention.tombstones) " tombstones stand in this record."
            }
        }
    }
}
