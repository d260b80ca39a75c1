//! The console's pages as HTML. Pure: they show what they are given.
//!
//! No script, nothing from elsewhere; the style sheet is part of the page and named by its hash in the policy. What cannot be
//! undone stands first on a card, and the buttons below it weigh the same: nothing is pressed by habit.

use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use counterfoil_core::hold::{Card, CardClass, HoldIs};
use counterfoil_core::statement::{AnsweredBy, Reversibility, Say};
use counterfoil_core::time::Timestamp;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use crate::accounts::{Operator, Role};
use crate::grants::Standing;
use crate::holds::{Held, word};

const STYLE: &str = include_str!("console.css");

/// Times for which a kind of call is usually wanted again: a task, a working day, a week.
const TIMES: [(u32, &str); 3] = [(30, "30 minutes"), (8 * 60, "8 hours"), (7 * 24 * 60, "7 days")];

pub(super) fn html(page: &Markup) -> Response {
    let style = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    );
    let fixed = HeaderValue::from_static;
    let policy = HeaderValue::from_str(&policy).expect("base64 and fixed text are header characters");
    let headers = HeaderMap::from_iter([
        (CONTENT_TYPE, fixed("text/html; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, policy),
        (REFERRER_POLICY, fixed("same-origin")),
        (HeaderName::from_static("x-content-type-options"), fixed("nosniff")),
        (CACHE_CONTROL, fixed("no-store")),
    ]);
    (headers, page.0.clone()).into_response()
}

fn framed(title: &str, operator: Option<&Operator>, main: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="robots" content="noindex";
                title { (title) " · Counterfoil console" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    a.brand href="/" { "Counterfoil console" }
                    @if let Some(operator) = operator { (signed_in(operator)) }
                }
                main { (main) }
            }
        }
    }
}

fn signed_in(operator: &Operator) -> Markup {
    html! {
        form.quiet method="post" action="/sign-out" {
            span.soft {
                (operator.behalf) ", " (operator.role)
                @if operator.by == AnsweredBy::Local { ", local" }
            }
            button type="submit" { "Sign out" }
        }
        @if operator.by == AnsweredBy::Local {
            p.note { "Every program of this user can read this token. What is answered with it is marked `local` in the record." }
        }
    }
}

pub(super) fn sign_in(wrong: Option<&str>) -> Markup {
    let main = html! {
        h1 { "Sign in" }
        @if let Some(wrong) = wrong { p.bad role="alert" { (wrong) } }
        form method="post" action="/sign-in" {
            label for="token" { "Operator's token" }
            input id="token" name="token" type="password" autocomplete="off" spellcheck="false" placeholder="cfo_…" required;
            button type="submit" { "Sign in" }
        }
        p.soft { "`counterfoil operators new` makes one. An agent's key is not one." }
    };
    framed("Sign in", None, &main)
}

pub(super) fn front(project: &str, operator: &Operator, held: &[Held], grants: &[Standing]) -> Markup {
    let main = html! {
        h1 { "Held calls of " (project) }
        @if held.is_empty() { p { "No call waits for a person." } }
        ul.list {
            @for hold in held {
                li {
                    a href={"/holds/" (hold.hold)} { (what(hold)) }
                    div.soft { (hold.tool) " of " (hold.provider) ", asked by " (hold.agent) }
                    div.soft { "asked " (hold.asked_at) ", expires " (hold.expires_at) }
                }
            }
        }
        h2 { "Grants that stand" }
        @if grants.is_empty() { p { "None." } }
        ul.list {
            @for grant in grants {
                @let document = &grant.document;
                li {
                    b { (document.service) "." (document.verb) } " on " code { (document.noun.value) }
                    div.soft { (document.agent) " until " (document.until) ", " (document.grant) }
                }
            }
        }
    };
    framed("Held calls", Some(operator), &main)
}

/// A call in one line.
fn what(hold: &Held) -> String {
    let class = hold.card.as_ref().and_then(|card| card.class.as_ref());
    class.map_or_else(
        || format!("{}: not in the registry", hold.tool),
        |class| {
            let nouns: Vec<&str> = class.nouns.iter().map(|noun| noun.value.as_str()).collect();
            format!("{}.{} {}", class.service, class.verb, nouns.join(", "))
        },
    )
}

pub(super) fn hold(operator: &Operator, held: &Held, now: Timestamp) -> Markup {
    let main = html! {
        h1 { (what(held)) }
        @match &held.card {
            Some(card) => (shown(card)),
            None => p { "What was shown here is wiped: the hold has ended." },
        }
        dl {
            dt { "Agent" } dd { code { (held.agent) } }
            dt { "Asked" } dd { (held.asked_at) }
            dt { "Expires" } dd { (held.expires_at) }
            dt { "Action" } dd { code { (held.action) } }
            dt { "Decision" } dd { code { (held.decision) } }
        }
        @if held.is == HoldIs::Open && now < held.expires_at && operator.role >= Role::Operator {
            (buttons(held))
        } @else {
            p { "This hold is " b { (word(held.is)) } "." (answered(held)) }
        }
    };
    framed("Held call", Some(operator), &main)
}

/// Nouns first, and whether it can be undone before everything that is merely about it.
fn shown(card: &Card) -> Markup {
    html! {
        @match &card.class {
            None => p.bad { "Nobody has published what this tool does. It can be approved for this one call at most." },
            Some(class) => {
                (undone(class))
                @if class.nouns.is_empty() { p.bad { "The call does not say what it would act on." } }
                ul.nouns {
                    @for noun in &class.nouns { li { span.soft { (noun.noun_type) } " " b { (noun.value) } } }
                }
                dl {
                    @for (name, value) in &class.fields { dt { (name) } dd { code { (value) } } }
                    dt { "Does" } dd { (class.operation) }
                    dt { "Data" } dd { (class.data_class) }
                    dt { "To" } dd { (class.destination) }
                    dt { "How much" } dd { (class.magnitude) }
                }
            }
        }
        dl {
            dt { "Tool" } dd { code { (card.tool) } " of " (card.provider) }
            dt { "Held because" } dd { (card.reason) }
        }
    }
}

fn undone(class: &CardClass) -> Markup {
    html! {
        @match class.reversibility {
            Reversibility::Reversible => p { "It can be undone." },
            Reversibility::Costly => p.bad { b { "Undoing it is costly." } },
            Reversibility::Terminal => p.bad { b { "It cannot be undone." } },
            Reversibility::Unknown => p.bad { b { "Nobody has said whether it can be undone." } },
        }
    }
}

fn buttons(held: &Held) -> Markup {
    html! {
        form.answers method="post" action={"/holds/" (held.hold)} {
            input type="hidden" name="decision" value=(held.decision);
            input type="hidden" name="card" value=(held.card_digest);
            button type="submit" name="answer" value=(Say::Deny) { "Deny" }
            button type="submit" name="answer" value=(Say::ApproveOnce) { "Approve this call once" }
            @if !held.once_only {
                @for (minutes, words) in TIMES {
                    button type="submit" name="answer" value={(Say::ApproveFor) ":" (minutes)} { "Approve for " (words) }
                }
            }
        }
        @if !held.once_only {
            p.soft {
                "Approving for a time lets the same agent do the same to the same things until then, without asking."
            }
        }
    }
}

fn answered(held: &Held) -> Markup {
    html! {
        @if let Some(answered) = &held.answered {
            " A person said " b { (answered.say) }
            @if let Some(until) = answered.until { ", good until " (until) }
            ". The answer is " code { (answered.answer) } "."
        }
    }
}

pub(super) fn refused(hold: &str, why: &str) -> Markup {
    let main = html! {
        h1 { "Not recorded" }
        p.bad role="alert" { (why) "." }
        p { a href={"/holds/" (hold)} { "See the hold as it is now" } }
    };
    framed("Not recorded", None, &main)
}
