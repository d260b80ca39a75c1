//! The project's log, read as a stranger reads any C2SP tiled log.

use counterfoil_core::checkpoint::Checkpoint;
use counterfoil_core::key::{PublicKey, Purpose};
use counterfoil_core::statement::Verdict;
use counterfoil_core::tree::{Hash, leaf_hash, node_hash};
use reqwest::StatusCode;

use crate::deployment::{Deployment, Service};
use crate::gateway::{Judged, item, record};

async fn get(service: &Service, path: &str) -> (StatusCode, Vec<u8>) {
    let answer = service.http.get(format!("{}{path}", service.public)).send().await.expect("answer");
    (answer.status(), answer.bytes().await.expect("body").to_vec())
}

async fn log_key(service: &Service, page: &str) -> PublicKey {
    let (_, set) = get(service, &format!("{page}/jwks.json")).await;
    let set = counterfoil_core::key::JwkSet::parse(&set).expect("a key set");
    set.keys.iter().find(|key| key.purpose == Purpose::Log).expect("a log key").public_key().expect("a key")
}

fn split(bundle: &[u8]) -> Vec<&[u8]> {
    let mut entries = Vec::new();
    let mut rest = bundle;
    while let [high, low, tail @ ..] = rest {
        let (entry, tail) = tail.split_at(usize::from(u16::from_be_bytes([*high, *low])));
        entries.push(entry);
        rest = tail;
    }
    entries
}

/// P5: checkpoint, tiles of two levels and entry bundles agree with each other.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tiles_and_bundles_lead_to_the_signed_root() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let page = deployment.project.issuer.page_path();
    // 6 first entries and 560 more: two full tiles, and one of 54.
    for batch in [1, 7, 200, 200, 152] {
        let items =
            (0..batch).map(|_| item(&deployment, &Judged::now(&deployment, Verdict::Deny)).1).collect();
        record(&service, &deployment.token, items).await.expect("200");
    }

    let (_, note) = get(&service, &format!("{page}/checkpoint")).await;
    let note = String::from_utf8(note).expect("text");
    let checkpoint =
        Checkpoint::verify(&note, &log_key(&service, &page).await).expect("signed by the log key");
    assert_eq!((checkpoint.size, checkpoint.origin), (566, deployment.project.issuer.origin()));

    let mut leaves = Vec::new();
    for tile in ["000", "001", "002.p/54"] {
        let (_, hashes) = get(&service, &format!("{page}/tile/0/{tile}")).await;
        let (_, bundle) = get(&service, &format!("{page}/tile/entries/{tile}")).await;
        let hashed: Vec<u8> =
            split(&bundle).into_iter().flat_map(|entry| *leaf_hash(entry).bytes()).collect();
        assert_eq!(hashes, hashed, "tile {tile}");
        leaves.extend(hashes.as_chunks::<32>().0.iter().copied().map(Hash::from_bytes));
    }
    assert_eq!(subtree(&leaves), checkpoint.root);
    let (_, above) = get(&service, &format!("{page}/tile/1/000.p/2")).await;
    assert_eq!(above, [*subtree(&leaves[..256]).bytes(), *subtree(&leaves[256..512]).bytes()].concat());
}

/// RFC 6962, 2.1, written out plainly.
fn subtree(leaves: &[Hash]) -> Hash {
    match leaves {
        [leaf] => *leaf,
        _ => {
            let half = leaves.len().next_power_of_two() / 2;
            node_hash(&subtree(&leaves[..half]), &subtree(&leaves[half..]))
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tile_beyond_the_log_or_spelled_otherwise_is_not_found() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let page = deployment.project.issuer.page_path();

    assert_eq!(get(&service, &format!("{page}/tile/0/000.p/6")).await.0, StatusCode::OK);
    assert_eq!(get(&service, &format!("{page}/tile/0/000.p/2")).await.1.len(), 64);
    for path in
        ["tile/0/000", "tile/0/000.p/7", "tile/0/000.p/0", "tile/0/0.p/6", "tile/1/000.p/1", "tile/8/0/000"]
    {
        assert_eq!(get(&service, &format!("{page}/{path}")).await.0, StatusCode::NOT_FOUND, "{path}");
    }
}
