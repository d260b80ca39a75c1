//! The same thing asked twice.

use counterfoil_core::digest::Digest;
use counterfoil_core::record::{Idempotency, RefusedReason};
use counterfoil_core::statement::Verdict;

use crate::answers::{duplicate, reason, recorded};
use crate::deployment::{BY, Deployment};
use crate::gateway::{Judged, item, record};

#[tokio::test(flavor = "multi_thread")]
async fn the_same_statement_twice_has_one_place() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let (_, once) = item(&deployment, &Judged::now(&deployment, Verdict::Allow));

    let first = record(&service, &deployment.token, vec![once.clone(), once.clone()]).await.expect("200");
    let again = record(&service, &deployment.token, vec![once]).await.expect("200");

    let seq = recorded(&first[0]).receipt.entry().seq;
    assert_eq!(duplicate(&first[1]).receipt.entry().seq, seq);
    assert_eq!(duplicate(&again[0]).receipt.entry().seq, seq);
    assert_eq!(duplicate(&again[0]).receipt.bytes(), recorded(&first[0]).receipt.bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_idempotency_key_has_one_answer() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let keyed = |fingerprint: &[u8]| {
        let idempotency = Idempotency { key: "call-1".to_owned(), fingerprint: Digest::of(fingerprint) };
        item(
            &deployment,
            &Judged { idempotency: Some(idempotency), ..Judged::now(&deployment, Verdict::Allow) },
        )
    };
    let ((first_digest, first), (_, same), (_, other)) = (keyed(b"a"), keyed(b"a"), keyed(b"b"));

    let answers = record(&service, &deployment.token, vec![first]).await.expect("200");
    let again = record(&service, &deployment.token, vec![same, other]).await.expect("200");

    assert_eq!(recorded(&answers[0]).digest, first_digest);
    assert_eq!(duplicate(&again[0]).digest, first_digest);
    assert_eq!(reason(&again[1]), RefusedReason::Conflict);

    // A stored ALLOW is not replayed over a kill: the call is judged again, and not let out.
    deployment.setup.kill(deployment.id(), BY).await.expect("killed");
    let killed = record(&service, &deployment.token, vec![keyed(b"a").1]).await.expect("200");
    assert_eq!(reason(&killed[0]), RefusedReason::Killed);
}

/// An invalid statement does not occupy its key.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_statement_leaves_its_idempotency_key_free() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let keyed = |control: u64| {
        let idempotency = Idempotency { key: "call-1".to_owned(), fingerprint: Digest::of(b"a") };
        let judged =
            Judged { control, idempotency: Some(idempotency), ..Judged::now(&deployment, Verdict::Allow) };
        item(&deployment, &judged).1
    };

    let stale = record(&service, &deployment.token, vec![keyed(0)]).await.expect("200");
    let current =
        record(&service, &deployment.token, vec![keyed(deployment.published.control)]).await.expect("200");

    assert_eq!(reason(&stale[0]), RefusedReason::Stale);
    recorded(&current[0]);
}

/// A key that the database could not hold fails its own item, not the batch.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_none_is_refused_alone() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let keyed = |key: &str| {
        let idempotency = Idempotency { key: key.to_owned(), fingerprint: Digest::of(b"a") };
        item(
            &deployment,
            &Judged { idempotency: Some(idempotency), ..Judged::now(&deployment, Verdict::Deny) },
        )
        .1
    };

    let items = vec![keyed(""), keyed("a\0b"), keyed(&"x".repeat(256)), keyed(&"x".repeat(255))];
    let answers = record(&service, &deployment.token, items).await.expect("200");

    assert_eq!(answers[..3].iter().map(reason).collect::<Vec<_>>(), vec![RefusedReason::Malformed; 3]);
    recorded(&answers[3]);
}
