//! Many writers, several services, one chain.

use std::collections::{BTreeMap, HashSet};

use counterfoil_core::digest::Digest;
use counterfoil_core::receipt::{Receipt, Trust, verify};
use counterfoil_core::record::{ItemAnswer, RefusedReason};
use counterfoil_core::statement::Verdict;

use crate::deployment::{BY, Deployment, Service};
use crate::gateway::{Judged, item, record};

/// Checks every receipt, and that they are one dense chain from `first` on.
fn one_chain(receipts: &[Receipt], first: u64, trust: &Trust) {
    let mut by_seq = BTreeMap::new();
    for receipt in receipts {
        verify(&receipt.bytes(), trust).unwrap_or_else(|refusal| panic!("{}: {refusal}", refusal.code()));
        let taken = by_seq.insert(receipt.entry().seq, receipt.entry().clone());
        assert!(taken.is_none(), "two statements at {}", receipt.entry().seq);
    }
    assert_eq!(
        by_seq.keys().copied().collect::<Vec<_>>(),
        (first..first + receipts.len() as u64).collect::<Vec<_>>()
    );
    let entries: Vec<_> = by_seq.into_values().collect();
    for pair in entries.windows(2) {
        assert_eq!(pair[1].prev, pair[0].hash());
        assert!(pair[1].at >= pair[0].at);
    }
}

async fn write(deployment: &Deployment, service: &Service, rounds: usize, batch: usize) -> Vec<Receipt> {
    let mut receipts = Vec::new();
    for _ in 0..rounds {
        let items =
            (0..batch).map(|_| item(deployment, &Judged::now(deployment, Verdict::Allow)).1).collect();
        let answers = record(service, &deployment.token, items).await.expect("200");
        receipts.extend(answers.into_iter().map(|answer| match answer {
            ItemAnswer::Recorded(recorded) => recorded.receipt,
            other => panic!("not recorded: {other:?}"),
        }));
    }
    receipts
}

/// P2: dense numbers, one chain, every receipt verifies, whoever writes and however many do.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_writers_through_two_services_make_one_chain() {
    let deployment = Deployment::new().await;
    let services = [deployment.serve().await, deployment.serve().await];
    let trust = deployment.trust(&services[0]).await;

    let writers = (0..16).map(|number| write(&deployment, &services[number % 2], 6, 1 + number % 5));
    let receipts: Vec<Receipt> =
        futures_util::future::join_all(writers).await.into_iter().flatten().collect();

    let first = deployment.published.seq + 1;
    one_chain(&receipts, first, &trust);
}

/// G4: while rules change, each item is judged by what is in force at its own commit.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn mixed_batches_while_rules_change_meet_their_right_fate() {
    let deployment = Deployment::new().await;
    let services = [deployment.serve().await, deployment.serve().await];
    let trust = deployment.trust(&services[0]).await;

    let changing = async {
        for _ in 0..5 {
            deployment.setup.publish_rules(deployment.id(), "", BY).await.expect("published");
        }
    };
    let writing = |service: usize| {
        let (deployment, service) = (&deployment, &services[service]);
        async move {
            let mut fates = Vec::new();
            for _ in 0..15 {
                let allow = item(deployment, &Judged::now(deployment, Verdict::Allow)).1;
                let deny = item(deployment, &Judged::now(deployment, Verdict::Deny)).1;
                fates.push(record(service, &deployment.token, vec![allow, deny]).await.expect("200"));
            }
            fates
        }
    };
    let ((), one, two) = tokio::join!(changing, writing(0), writing(1));

    let mut receipts = Vec::new();
    for fates in [one, two] {
        // The first publication makes every further ALLOW of these writers stale, for good.
        let mut gone_stale = false;
        for pair in fates {
            match &pair[0] {
                ItemAnswer::Recorded(recorded) => {
                    assert!(!gone_stale, "an ALLOW after the floor had moved past it");
                    receipts.push(recorded.receipt.clone());
                }
                ItemAnswer::Refused { reason: RefusedReason::Stale, .. } => gone_stale = true,
                other => panic!("neither recorded nor stale: {other:?}"),
            }
            let ItemAnswer::Recorded(denied) = &pair[1] else {
                panic!("a DENY was not recorded: {:?}", pair[1])
            };
            receipts.push(denied.receipt.clone());
        }
    }
    for receipt in &receipts {
        verify(&receipt.bytes(), &trust).unwrap_or_else(|refusal| panic!("{}: {refusal}", refusal.code()));
    }
    let digests: HashSet<Digest> = receipts.iter().map(|receipt| receipt.entry().hash()).collect();
    assert_eq!(digests.len(), receipts.len());
}
