//! The log as it is served, read by implementations that are not ours.

use super::world::World;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{JwkSet, Purpose};
use counterfoil_core::note::vkey;
use counterfoil_tests::log_readers::{Go, Log, Python};
use counterfoil_tests::mcp::Http;
use std::path::{Path, PathBuf};

/// A log of more than one tile, a checkpoint from when it was small, and what was told about its key.
struct Scene {
    world: World,
    place: String,
    vkey: String,
    folder: tempfile::TempDir,
}

const TILE: u64 = 256;

impl Scene {
    fn open() -> Self {
        let world = World::start();
        let deployment = &world.deployment;
        let set = JwkSet::parse(&deployment.jwks().expect("a key set")).expect("good keys");
        let log = set.keys.iter().find(|key| key.purpose == Purpose::Log).expect("a log key");
        let issuer: Issuer = deployment.issuer.parse().expect("an issuer");
        let vkey = vkey(&issuer.origin(), &log.public_key().expect("a good key"));
        let place = format!("{}{}", deployment.evidence_url(), deployment.page());
        Self { place, vkey, folder: tempfile::tempdir().expect("a folder"), world }
    }

    fn log(&self) -> Log<'_> {
        Log { place: &self.place, vkey: &self.vkey }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn fetch(&self, path: &str) -> Vec<u8> {
        let answer =
            self.world.deployment.http.get(&format!("{}/{path}", self.place), None).expect("an answer");
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.body
    }

    /// The size of the published checkpoint.
    fn size(&self) -> u64 {
        let note = String::from_utf8(self.fetch("checkpoint")).expect("text");
        note.lines().nth(1).and_then(|size| size.parse().ok()).expect("a size")
    }

    /// Denied calls leave one entry each and reach nobody.
    fn grow_beyond(&self, wanted: u64) {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let (http, agent) =
                        (Http::new().expect("a client"), self.world.deployment.agent("files"));
                    for _ in 0..wanted.div_ceil(4) {
                        let answer = agent.call(&http, "write_file", r#"{"path":"/etc/motd","content":""}"#);
                        assert!(answer.expect("an answer").is_error().expect("a result"));
                    }
                });
            }
        });
        // A checkpoint is published at most once a second.
        while self.size() <= wanted {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }

    fn receipts(&self, seqs: &[u64]) -> Vec<PathBuf> {
        let keep = |seq: &u64| {
            let file = self.file(&format!("{seq}.json"));
            std::fs::write(&file, self.world.deployment.receipt(*seq).expect("a receipt")).expect("written");
            file
        };
        seqs.iter().map(keep).collect()
    }

    /// Copies the log into a folder, laid out as it is served; returns its files.
    fn mirror(&self) -> Vec<PathBuf> {
        let size = self.size();
        let (full, rest) = (size / TILE, size % TILE);
        assert!(full == 1 && rest > 0, "one full tile and one partial tile, not {size}");
        let paths = [
            "checkpoint".to_owned(),
            "tile/0/000".to_owned(),
            format!("tile/0/001.p/{rest}"),
            "tile/1/000.p/1".to_owned(),
            "tile/entries/000".to_owned(),
            format!("tile/entries/001.p/{rest}"),
        ];
        let keep = |path: &String| {
            let file = self.file("mirror").join(path);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            std::fs::write(&file, self.fetch(path)).expect("written");
            file
        };
        paths.iter().map(keep).collect()
    }
}

// Upholds P5, P7.
#[test]
fn gos_own_log_code_accepts_the_log_and_refuses_any_change_of_it() {
    let scene = Scene::open();
    let go = Go::build().expect("the reader builds");
    let small = scene.file("small.checkpoint");
    std::fs::write(&small, scene.fetch("checkpoint")).expect("written");
    scene.grow_beyond(TILE + 20);

    let receipts = scene.receipts(&[0, 1, 255, 256, scene.size() - 1]);
    let opinion = go.read(&scene.log(), Some(&small), &receipts).expect("it runs");
    assert!(opinion.accepted, "{}", opinion.said);

    let files = scene.mirror();
    let mirror = scene.file("mirror").display().to_string();
    let copy = Log { place: &mirror, vkey: &scene.vkey };
    assert!(go.read(&copy, None, &[]).expect("it runs").accepted);
    for file in &files {
        assert!(!spoilt(file, || go.read(&copy, None, &[]).expect("it runs").accepted), "{}", file.display());
    }
    let other = scene.vkey.replacen("/p/0-", "/p/7-", 1);
    assert!(!go.read(&Log { place: &mirror, vkey: &other }, None, &[]).expect("it runs").accepted);
}

/// What `judge` says while one bit in the middle of the file is another.
fn spoilt(file: &Path, judge: impl FnOnce() -> bool) -> bool {
    let honest = std::fs::read(file).expect("a file");
    let mut changed = honest.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    std::fs::write(file, changed).expect("written");
    let judged = judge();
    std::fs::write(file, honest).expect("written");
    judged
}

// Upholds P5, P7, where scripts/test found a Python that the reader runs on.
#[test]
fn pythons_log_reader_agrees_where_there_is_one() {
    let Some(python) = Python::find() else {
        println!("no Python of 3.12 or newer when scripts/test set this up: nothing was checked");
        return;
    };
    let scene = Scene::open();
    let small = scene.file("small.checkpoint");
    std::fs::write(&small, scene.fetch("checkpoint")).expect("written");
    scene.grow_beyond(TILE + 20);

    let grew = python.grew_from(&scene.log(), &small).expect("it runs");
    assert!(grew.accepted, "{}", grew.said);
    let chain = scene.world.chain();
    for index in [0, 255, 256] {
        let leaf = scene.file("leaf");
        std::fs::write(&leaf, chain.links[index].entry.bytes()).expect("written");
        let included = python.includes(&scene.log(), index, &leaf).expect("it runs");
        assert!(included.accepted, "{}", included.said);
        let elsewhere = python.includes(&scene.log(), index + 1, &leaf).expect("it runs");
        assert!(!elsewhere.accepted, "{}", elsewhere.said);
    }
}
