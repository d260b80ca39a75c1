use super::*;
use crate::testing::{control_of_world, log_key};
use counterfoil_core::entry::{Entry, genesis};
use counterfoil_core::envelope::Signed;
use counterfoil_core::key::{self, SigningKey};
use counterfoil_core::record::RefusedReason;
use counterfoil_core::statement::Decision;
use counterfoil_core::tree::Frontier;
use serde_json::{Value, json};

/// A batch of two decisions under one checkpoint, as an honest ledger answers it.
struct Batch {
    expected: Vec<Expected>,
    receipts: Vec<Value>,
}

fn decision_key() -> SigningKey<key::Decision> {
    SigningKey::from_seed(&[0x11; 32])
}

fn batch(count: u64) -> Batch {
    let vector = include_str!("../../../../docs/vectors/receipts/decision.json");
    let vector: Value = serde_json::from_str(vector).expect("JSON");
    let mut frontier = Frontier::empty();
    let mut expected = Vec::new();
    let mut entries = Vec::new();
    let mut prev = None;
    for seq in 0..count {
        let mut payload = vector["receipt"]["statement"]["payload"].clone();
        payload["action"] = json!(format!("act_019355a0c1007000800000000000b{seq:03x}"));
        let decision: Decision = serde_json::from_value(payload).expect("a decision");
        let (project, at) = (decision.project, decision.at);
        let signed = Signed::sign(decision, &decision_key());
        let prev_hash = prev.unwrap_or_else(|| genesis(project));
        let entry = Entry::new(project, seq, at.plus_millis(2), Kind::Decision, signed.digest(), prev_hash);
        prev = Some(entry.hash());
        entries.push(entry);
        expected.push(Expected {
            project,
            digest: signed.digest(),
            statement: String::from_utf8(signed.bytes().to_vec()).expect("UTF-8"),
            decided_at: at,
        });
    }
    let leaves: Vec<_> = entries.iter().map(Entry::leaf_hash).collect();
    let paths = frontier.append(&leaves);
    let origin = "gw.example/p/7-k3m9q2v8".to_owned();
    let note = Checkpoint { origin, size: frontier.size(), root: frontier.root() }.sign(&log_key());
    let receipts = entries
        .into_iter()
        .zip(&paths)
        .zip(&expected)
        .map(|((entry, path), expected)| {
            let receipt = Receipt::new(expected.statement.as_bytes(), entry, path, &note);
            serde_json::from_slice(&receipt.expect("a receipt").bytes()).expect("JSON")
        })
        .collect();
    Batch { expected, receipts }
}

type Mutation = fn(&mut Batch);

/// Answers as they arrive: bytes, read again. Statement bytes keep their order, since they are canonical.
fn answer(receipt: &Value, expected: &Expected) -> ItemAnswer {
    let mut receipt = receipt.clone();
    let statement = receipt["statement"].take();
    let statement = String::from_utf8(counterfoil_core::json::canonical(&statement)).expect("UTF-8");
    let text = receipt.to_string().replace("\"statement\":null", &format!("\"statement\":{statement}"));
    let receipt: Receipt = serde_json::from_str(&text).expect("a receipt");
    ItemAnswer::Recorded(Recorded { digest: expected.digest, receipt })
}

fn fates(batch: &Batch) -> Vec<bool> {
    let control = control_of_world(&decision_key());
    let mut checker = Checker::of_batch(Instant::now(), Some(&control));
    batch
        .receipts
        .iter()
        .zip(&batch.expected)
        .map(|(receipt, expected)| {
            matches!(checker.fate(answer(receipt, expected), expected), Fate::Recorded(_))
        })
        .collect()
}

#[test]
fn an_honest_batch_is_acknowledged_whole() {
    assert_eq!(fates(&batch(5)), [true; 5]);
}

// G4: the quick look at later receipts of a batch refuses what the long one refuses.
#[test]
fn one_false_receipt_in_a_batch_is_told_from_the_others() {
    let mutations: [(&str, Mutation); 9] = [
        ("another statement", |b| b.receipts[2]["statement"] = b.receipts[1]["statement"].clone()),
        ("another receipt", |b| b.receipts[2] = b.receipts[1].clone()),
        ("another project", |b| {
            b.receipts[2]["entry"]["project"] = json!("prj_019355a0c0007000800000000000a009");
        }),
        ("another kind", |b| b.receipts[2]["entry"]["kind"] = json!("observation")),
        ("another number", |b| b.receipts[2]["entry"]["seq"] = json!(3)),
        ("another day", |b| b.receipts[2]["entry"]["epoch"] = json!("2026-12-01")),
        ("another time", |b| b.receipts[2]["entry"]["at"] = json!("2026-11-30T11:20:00.999Z")),
        ("another path", |b| {
            let proof = b.receipts[2]["proof"].as_str().expect("text").to_owned();
            let line = proof.lines().nth(2).expect("a hash").to_owned();
            b.receipts[2]["proof"] = json!(proof.replace(&line, &line.to_lowercase()));
        }),
        ("another size", |b| {
            let proof = b.receipts[2]["proof"].as_str().expect("text").replace("\n5\n", "\n6\n");
            b.receipts[2]["proof"] = json!(proof);
        }),
    ];
    for (name, mutate) in mutations {
        let mut batch = batch(5);
        mutate(&mut batch);

        assert_eq!(fates(&batch), [true, true, false, true, true], "{name}");
    }
}

#[test]
fn without_pinned_keys_nothing_is_acknowledged() {
    let batch = batch(1);
    let mut checker = Checker::of_batch(Instant::now(), None);

    let fate = checker.fate(answer(&batch.receipts[0], &batch.expected[0]), &batch.expected[0]);

    assert!(matches!(fate, Fate::InDoubt));
}

#[test]
fn other_answers_are_what_they_say() {
    let batch = batch(1);
    let expected = &batch.expected[0];
    let digest = expected.digest;
    let fate = |answer| Checker::of_batch(Instant::now(), None).fate(answer, expected);

    let refused = ItemAnswer::Refused { digest: Some(digest), reason: RefusedReason::Stale };
    assert!(matches!(fate(refused), Fate::Refused(RefusedReason::Stale)));
    assert!(matches!(fate(ItemAnswer::Unknown { digest }), Fate::InDoubt));
    assert!(matches!(fate(ItemAnswer::Kept { digest }), Fate::InDoubt));
}
