//! P4: honest traffic raises nothing in any order, and what is found stays found.

use super::*;
use crate::commitment::{Commitment, OpeningSeed};
use crate::statement::{Mode, ObservationStatus, Outcome};
use proptest::prelude::*;
use proptest::sample::select;

const START: i64 = 1_796_037_600_000;

fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(START + millis).expect("within range")
}

fn value(name: &str) -> Commitment {
    OpeningSeed::from_bytes([0; 16]).commit("value", name).commitment()
}

fn action() -> ActionId {
    ActionId::from_uuid(uuid::Uuid::from_u128(7))
}

fn decided(mode: Mode, judged: Judged) -> Decided {
    Decided {
        digest: Digest::of(b"decision"),
        seq: 0,
        entered_at: time(0),
        action: action(),
        provider: "notes".parse().ok(),
        tool: "note_write".parse().ok(),
        args: Some(value("args")),
        mode,
        account: Account::Governed,
        cleared: judged == Judged::Allowed,
        quoted: None,
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Judged {
    Allowed,
    Refused,
}

fn stated(seq: u64, at: i64, outcome: Outcome, result: Option<&str>) -> Stated {
    Stated {
        digest: Digest::of(format!("statement {seq}").as_bytes()),
        seq,
        entered_at: time(at),
        standing: Standing::Holds("notes".parse().expect("good id")),
        action: Some(action()),
        decision: Some(Digest::of(b"decision")),
        provider: "notes".parse().ok(),
        tool: "note_write".parse().ok(),
        args: Some(value("args")),
        result: result.map(value),
        outcome,
        fingerprint: Digest::of(format!("{outcome} {result:?}").as_bytes()),
        charged: None,
    }
}

fn observed(
    seq: u64,
    at: i64,
    (status, is_error): (ObservationStatus, bool),
    result: Option<&str>,
) -> Observed {
    let result = result.filter(|_| status == ObservationStatus::Returned).map(value);
    Observed {
        digest: Digest::of(format!("observation {seq}").as_bytes()),
        seq,
        entered_at: time(at),
        status,
        is_error,
        result,
    }
}

/// How a call can end when nobody lies: what the gateway sees, what the provider signs.
fn honest_ends() -> Vec<((ObservationStatus, bool), Vec<Outcome>)> {
    use ObservationStatus as Saw;
    use Outcome::{Abandoned, Blocked, Escalated, Executed, Failed, NotAttempted, Skipped};
    vec![
        ((Saw::Returned, false), vec![Executed]),
        ((Saw::Returned, false), vec![Abandoned, Executed]),
        ((Saw::Returned, true), vec![Failed]),
        ((Saw::Returned, true), vec![Blocked]),
        ((Saw::Timeout, false), vec![Executed]),
        ((Saw::Timeout, false), vec![Abandoned]),
        ((Saw::Cancelled, false), vec![Abandoned, Executed]),
        ((Saw::Cancelled, false), vec![Skipped]),
        ((Saw::Error, false), vec![Failed]),
        ((Saw::Error, false), vec![]),
        ((Saw::Refused, false), vec![Blocked]),
        ((Saw::Refused, false), vec![]),
        ((Saw::NotSent, false), vec![]),
        ((Saw::NotSent, false), vec![NotAttempted]),
        ((Saw::Asked, false), vec![]),
        ((Saw::Asked, false), vec![Escalated]),
    ]
}

proptest! {
    /// Concurrent, retried, slow, cancelled, streamed (the provider gives no result), oversized (the gateway has none
    /// to compare): whichever entry comes first, no prefix of the record has a finding.
    #[test]
    fn honest_traffic_raises_nothing(
        end in select(honest_ends()),
        retries in 0..3usize,
        observed_after in 0..=3usize,
        step in 1..100_000i64,
        comparable in any::<(bool, bool)>(),
        mode in select(&[Mode::Gateway, Mode::Hook][..]),
        duty in select(&[Duty::Owes, Duty::OwesNothing][..]),
    ) {
        let (saw, outcomes) = end;
        let theirs = |outcome| (comparable.0 && outcome == Outcome::Executed).then_some("result");
        let mut statements: Vec<(Outcome, Option<&str>)> =
            outcomes.iter().map(|outcome| (*outcome, theirs(*outcome))).collect();
        if let Some(last) = statements.last().copied() {
            statements.extend(std::iter::repeat_n(last, retries));
        }
        let mut matter = Matter::new(decided(mode, Judged::Allowed));
        let (mut seq, mut at) = (0, 0);
        let ours = comparable.1.then_some("result");
        for place in 0..=statements.len() {
            if place == observed_after.min(statements.len()) && mode == Mode::Gateway {
                (seq, at) = (seq + 1, at + step);
                matter.observed = Some(observed(seq, at, saw, ours));
            }
            let terms = Terms { duty, sign_within: DEFAULT_SIGN_WITHIN };
            let now = reconcile(&matter, terms, Watch::Open, time(at));
            prop_assert_eq!(&now.findings, &Vec::new(), "{:?}", matter);
            if let Some((outcome, result)) = statements.get(place) {
                (seq, at) = (seq + 1, at + step);
                matter.stated.push(stated(seq, at, *outcome, *result));
            }
        }
        let terms = Terms { duty, sign_within: DEFAULT_SIGN_WITHIN };
        let long_after = reconcile(&matter, terms, Watch::Open, time(1_000_000_000));
        if !(mode == Mode::Hook && outcomes.is_empty()) {
            prop_assert_eq!(&long_after.findings, &Vec::new(), "{:?}", matter);
        }
    }

    /// An unmodified provider signs nothing, ever: never a finding while its gateway observes.
    #[test]
    fn a_provider_that_owes_nothing_is_never_a_finding(
        end in select(honest_ends()),
        now in 0..1_000_000_000i64,
    ) {
        let mut matter = Matter::new(decided(Mode::Gateway, Judged::Allowed));
        matter.observed = Some(observed(1, 5, end.0, Some("result")));
        let found = reconcile(&matter, Terms::owes_nothing(), Watch::Closed, time(now));
        prop_assert!(found.findings.is_empty());
        prop_assert!(matches!(found.status, Status::Unsigned | Status::Matched));
    }

    /// Whatever anybody signs: there is an answer, it does not depend on the order of the arguments, no finding
    /// stands twice, and one that was true of a shorter record is true of the longer one or closed by it.
    #[test]
    fn every_record_has_one_answer_and_findings_stay(
        events in prop::collection::vec(any_event(), 0..6),
        judged in select(&[Judged::Allowed, Judged::Refused][..]),
        mode in select(&[Mode::Gateway, Mode::Hook][..]),
        duty in select(&[Duty::Owes, Duty::OwesNothing][..]),
        watch in select(&[Watch::Open, Watch::Closed][..]),
    ) {
        let terms = Terms { duty, sign_within: DEFAULT_SIGN_WITHIN };
        let mut matter = Matter::new(decided(mode, judged));
        let (mut seq, mut at) = (0, 0);
        let mut standing: Vec<(FindingCode, Digest)> = Vec::new();
        for event in events {
            (seq, at) = (seq + 1, at + event.after);
            event.happen(&mut matter, seq, at);
            let now = reconcile(&matter, terms, watch, time(at));

            let mut turned = matter.clone();
            turned.stated.reverse();
            prop_assert_eq!(&reconcile(&turned, terms, watch, time(at)), &now);
            let found: Vec<_> = now.findings.iter().map(|found| (found.code, found.statement)).collect();
            for (index, finding) in found.iter().enumerate() {
                prop_assert!(!found[..index].contains(finding), "{finding:?} stands twice");
            }
            let closed = |(code, about): &(FindingCode, Digest)| {
                now.clears.iter().any(|cleared| cleared.code == *code && cleared.about == *about)
            };
            for earlier in &standing {
                prop_assert!(found.contains(earlier) || closed(earlier), "{earlier:?} went away: {matter:?}");
            }
            standing.retain(|earlier| !closed(earlier));
            standing.extend(found.into_iter().filter(|new| !standing.contains(new)).collect::<Vec<_>>());
        }
    }
}

proptest! {
    /// What follows from the next statement needs no more than what is remembered of those before it; what follows from the
    /// observation needs what was signed until then, each thing once.
    #[test]
    fn what_is_remembered_is_enough(
        events in prop::collection::vec(any_event(), 1..7),
        judged in select(&[Judged::Allowed, Judged::Refused][..]),
        mode in select(&[Mode::Gateway, Mode::Hook][..]),
        duty in select(&[Duty::Owes, Duty::OwesNothing][..]),
        later in 0..2_000_000i64,
    ) {
        let terms = Terms { duty, sign_within: DEFAULT_SIGN_WITHIN };
        let mut whole = Matter::new(decided(mode, judged));
        let mut kept = whole.clone();
        let mut distinct: Vec<Stated> = Vec::new();
        let (mut seq, mut at) = (0, 0);
        let mut known: Vec<Found> = Vec::new();
        for event in events {
            (seq, at) = (seq + 1, at + event.after);
            event.happen(&mut whole, seq, at);
            kept.stated = match kept.observed == whole.observed {
                true => remembered(&kept).into_iter().cloned().collect(),
                false => distinct.clone(),
            };
            kept.observed.clone_from(&whole.observed);
            if let Some(new) = whole.stated.last().filter(|stated| stated.seq == seq) {
                let good = new.standing.holds() && !new.is_foreign_to(&whole.decided);
                let repeats = good && distinct.iter().any(|said| said.fingerprint == new.fingerprint);
                if !repeats {
                    distinct.extend(good.then(|| new.clone()));
                    kept.stated.push(new.clone());
                }
            }
            for now in [time(at), time(at + later)] {
                let (all, few) =
                    (reconcile(&whole, terms, Watch::Open, now), reconcile(&kept, terms, Watch::Open, now));
                prop_assert_eq!((all.status, all.again_after), (few.status, few.again_after));
                prop_assert_eq!(&all.clears, &few.clears);
                for found in &few.findings {
                    prop_assert!(all.findings.contains(found), "{found:?}");
                }
                for found in &all.findings {
                    let stands = |known: &Found| (known.code, known.statement) == (found.code, found.statement);
                    let there = few.findings.contains(found) || known.iter().any(stands);
                    prop_assert!(there, "{found:?} is forgotten: {whole:?}");
                }
                if now == time(at) {
                    known.extend(all.findings);
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Event {
    after: i64,
    standing: Standing,
    outcome: Outcome,
    result: Option<&'static str>,
    args: Option<&'static str>,
    saw: Option<(ObservationStatus, bool)>,
}

fn any_event() -> impl Strategy<Value = Event> {
    let holds = |provider: &str| Standing::Holds(provider.parse().expect("good id"));
    (
        0..900_000i64,
        select(vec![holds("notes"), holds("notes"), holds("mail"), Standing::Ended, Standing::Fails]),
        select(Outcome::ALL),
        select(vec![None, Some("result"), Some("other")]),
        select(vec![None, Some("args"), Some("other")]),
        prop::option::of((select(ObservationStatus::ALL), any::<bool>())),
    )
        .prop_map(|(after, standing, outcome, result, args, saw)| Event {
            after,
            standing,
            outcome,
            result,
            args,
            saw,
        })
}

impl Event {
    fn happen(self, matter: &mut Matter, seq: u64, at: i64) {
        match self.saw {
            Some(saw) if matter.observed.is_none() && matter.decided.mode == Mode::Gateway => {
                matter.observed = Some(observed(seq, at, saw, Some("result")));
            }
            _ => matter.stated.push(Stated {
                standing: self.standing,
                args: self.args.map(value),
                ..stated(seq, at, self.outcome, self.result)
            }),
        }
    }
}

#[test]
fn findings_about_forged_statements_are_capped_for_each_key_and_hour() {
    let mut cap = Cap::default();
    let key = crate::key::SigningKey::<crate::key::Execution>::from_seed(&[9; 32]);

    let admitted = (0..1000).filter(|i| cap.admits(Some(key.kid()), time(*i))).count();

    assert_eq!(admitted, 20);
    assert!(cap.admits(None, time(1000)), "another key has its own count");
    assert!(cap.admits(Some(key.kid()), time(3_600_000)), "a new hour, a new count");
}
