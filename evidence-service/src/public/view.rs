//! What a page says, as a value. Pure: HTML and JSON are both made of it, so they cannot differ.
//!
//! The format of the JSON is docs/formats/page.md. Every text in it is a word of ours or comes from
//! [`super::projection`].

mod action;
mod calls;
mod changes;
mod counts;
mod coverage;
mod findings;
mod keys;
mod reach;
pub(super) mod words;

use std::sync::Arc;

use counterfoil_core::checkpoint::Checkpoint;
use counterfoil_core::entry::Kind;
use counterfoil_core::note::Note;
use counterfoil_core::statement::{AnsweredBy, Environment};
use counterfoil_core::time::Timestamp;
use counterfoil_core::tree::Hash;
use serde::Serialize;

use super::gather::Gathered;
use super::projection::{Day, PublicEntry};
use crate::ledger::Project;
use crate::settings::Visibility;

pub(super) use action::{ActionView, GatheredAction};
pub(super) use calls::{Call, Calls, Three, by_action};
pub(super) use changes::ToolChange;
pub(super) use counts::{Counts, Sum};
pub(super) use coverage::{CoverageLine, Declared, Probed, Terms};
pub(super) use findings::{Findings, Listed, Standing};
pub(super) use keys::KeyLife;
pub(super) use reach::{Change, GatheredChange, Reach, SaidRule};

/// The whole page of a project.
#[derive(Clone, Debug, Serialize)]
pub(super) struct View {
    typ: &'static str,
    pub(super) project: Named,
    pub(super) visibility: Visibility,
    /// When this was read, by this server's clock.
    pub(super) at: Timestamp,
    pub(super) trouble: Trouble,
    pub(super) findings: Findings,
    /// Tools that are not listed as they were pinned.
    pub(super) changes: Vec<ToolChange>,
    pub(super) counts: Counts,
    pub(super) reach: Reach,
    pub(super) answers: Answers,
    pub(super) coverage: Vec<CoverageLine>,
    pub(super) calls: Calls,
    pub(super) record: Record,
    pub(super) keys: Vec<KeyLife>,
    pub(super) retention: Retention,
    pub(super) cannot_prove: Vec<&'static str>,
    pub(super) verify: Verify,
}

/// Which project.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) env: Environment,
    /// The identity: host, slot and public id.
    pub(super) iss: String,
    /// The path of the page on its host.
    pub(super) path: String,
}

/// What is wrong with the record or stops it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Trouble {
    /// Why nothing is recorded now, if nothing is.
    pub(super) read_only: Option<String>,
    pub(super) killed: bool,
    /// Ids of agents and connections, and names of environments, that are killed while the project is not.
    pub(super) stopped: Vec<String>,
    /// Until when a break-glass window stands: what nothing allows runs and is marked.
    pub(super) breakglass_until: Option<Timestamp>,
    /// Until when a shadow window stands: what published rules refuse is said and not enforced.
    pub(super) shadow_until: Option<Timestamp>,
    /// How many kills there were.
    pub(super) kills: u64,
    /// Where the self-audit found that the record is not what was signed and numbered.
    pub(super) broken: Option<String>,
}

/// Answers by people to held calls.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Answers {
    pub(super) count: u64,
    /// Of how many, the newest, the next number tells.
    pub(super) looked_at: u64,
    /// Given by somebody known only as one who runs programs on the same machine.
    pub(super) local: u64,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Record {
    pub(super) size: u64,
    pub(super) root: Option<Hash>,
    /// The signed note as it was published.
    pub(super) checkpoint: String,
    pub(super) audit: Option<Audit>,
    pub(super) days: u64,
    /// The newest closed days, newest first.
    pub(super) newest_days: Vec<Day>,
    /// The first entry of the day that is open.
    pub(super) today_first: u64,
    pub(super) entries: Vec<PublicEntry>,
    /// The seq that the next part of the list lies below.
    pub(super) older: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Audit {
    pub(super) at: Timestamp,
    pub(super) size: u64,
    pub(super) clean: bool,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Retention {
    pub(super) days: u16,
    /// Bodies that were emptied are named by tombstones.
    pub(super) tombstones: u64,
}

/// How somebody else checks all this.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Verify {
    /// To be typed as they stand, in an empty folder.
    pub(super) commands: Vec<String>,
    /// What a script reads instead.
    pub(super) entries: String,
    pub(super) checkpoint: String,
    pub(super) jwks: String,
}

impl Answers {
    fn of(found: &Gathered, count: u64) -> Self {
        let by = found.answers.iter().filter_map(super::projection::answered_by);
        let (mut looked_at, mut local) = (0, 0);
        for by in by {
            looked_at += 1;
            local += u64::from(by == AnsweredBy::Local);
        }
        Self { count, looked_at, local }
    }
}

impl View {
    pub(super) fn of(mut found: Gathered) -> Self {
        let project = Named::of(&found.project);
        let counts = Counts::of(&found);
        let checkpoint = checkpoint_of(&found.head.checkpoint);
        let kind = |kind| counts.of_kind(kind);
        Self {
            typ: "page/v1",
            visibility: found.visibility,
            at: found.now,
            trouble: Trouble {
                read_only: found.stopped.clone(),
                killed: found.head.killed,
                stopped: found.head.stopped.clone(),
                breakglass_until: found.head.breakglass_until.filter(|until| *until > found.now),
                shadow_until: found.head.shadow_until.filter(|until| *until > found.now),
                kills: found.head.generation,
                broken: found.audit.as_ref().and_then(|audit| audit.broken.clone()),
            },
            findings: Findings::of(&found, kind(Kind::Finding)),
            answers: Answers::of(&found, kind(Kind::Answer)),
            reach: Reach::of(&found),
            coverage: coverage::lines(&found),
            keys: keys::lives(&found.keys),
            retention: Retention { days: found.retention_days.days(), tombstones: kind(Kind::Tombstone) },
            cannot_prove: words::CANNOT_PROVE.to_vec(),
            verify: Verify::of(&project),
            calls: Calls::of(&found),
            changes: std::mem::take(&mut found.changes).into_iter().map(ToolChange::from).collect(),
            record: Record::of(found, checkpoint),
            counts,
            project,
        }
    }
}

impl Named {
    pub(super) fn of(project: &Arc<Project>) -> Self {
        Self {
            name: project.name.clone(),
            env: project.env,
            iss: project.issuer.to_string(),
            path: project.issuer.page_path(),
        }
    }
}

impl Record {
    fn of(found: Gathered, checkpoint: Option<Checkpoint>) -> Self {
        Self {
            size: found.head.size,
            root: checkpoint.map(|checkpoint| checkpoint.root),
            checkpoint: found.head.checkpoint,
            audit: found.audit.map(|audit| Audit {
                at: audit.at,
                size: audit.size,
                clean: audit.broken.is_none(),
            }),
            days: found.closed.days,
            newest_days: found.closed.newest.into(),
            today_first: found.head.today_first,
            older: found.older,
            entries: found.entries,
        }
    }
}

impl Verify {
    fn of(project: &Named) -> Self {
        let Named { iss, path, .. } = project;
        Self {
            commands: vec![
                format!("PAGE={iss}    # or the address that you read this page at"),
                "curl -fsS -o jwks.json \"$PAGE/jwks.json\"    # keep it: these are the keys that you pin"
                    .to_owned(),
                "curl -fsS -o package.zip \"$PAGE/package.zip\"    # 202 means: it is being made, ask again"
                    .to_owned(),
                "counterfoil verify package.zip --trust jwks.json".to_owned(),
                "curl -fsS -o receipt.json \"$PAGE/receipts/0\"    # any entry's number".to_owned(),
                "counterfoil verify receipt.json --trust jwks.json".to_owned(),
                "counterfoil watch \"$PAGE\" --trust jwks.json --state kept.checkpoint    # from cron"
                    .to_owned(),
            ],
            entries: format!("{path}/entries.json"),
            checkpoint: format!("{path}/checkpoint"),
            jwks: format!("{path}/jwks.json"),
        }
    }
}

/// The size and root of a note, if it reads.
fn checkpoint_of(note: &str) -> Option<Checkpoint> {
    Checkpoint::parse(&Note::parse(note).ok()?).ok()
}
