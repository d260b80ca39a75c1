//! `counterfoil forget --principal <name>`: what was said about one person's actions, their openings, and the name.
//!
//! Every decision names the API key that it came by, so the actions of a principal are those of the keys that were made
//! for it; these are revoked first. With --disclosure-key the openings are read here as well, for callers that name a
//! principal with each call; the key stays on this machine. Entries stay, and receipts in other hands still verify.
//! There is no way back, so it asks for --yes.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use counterfoil_core::digest::Digest;
use counterfoil_core::id::{KeyId, ProjectId};
use counterfoil_evidence::retention::Forget;
use counterfoil_evidence::setup::Setup;
use counterfoil_jwks::file::read_private;

use crate::deployment::Folder;
use crate::deployment::founding::OPERATOR;
use crate::deployment::opened::Opened;
use crate::disclosure::DisclosureKey;

#[derive(clap::Args)]
#[group(id = "whom", required = true, multiple = true)]
pub struct Arguments {
    /// The deployment's folder
    #[arg(long, default_value = ".counterfoil")]
    dir: PathBuf,

    /// The opaque name that API keys were made for
    #[arg(long, group = "whom")]
    principal: Option<String>,

    /// An API key (key_…), whoever it was made for. May be given more than once
    #[arg(long, group = "whom")]
    key: Vec<KeyId>,

    /// The private JWK of the project's disclosure key: openings that name the principal are found too
    #[arg(long, requires = "principal")]
    disclosure_key: Option<PathBuf>,

    /// Really: what is emptied does not come back
    #[arg(long)]
    yes: bool,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    ensure!(arguments.yes, "what is emptied does not come back: say --yes to go on");
    let opened = Opened::open(&Folder::open(&arguments.dir)?).await?;
    let (setup, project) = (&opened.setup, opened.record.id);
    let mut what = Forget {
        principal: arguments.principal,
        keys: arguments.key.into_iter().collect(),
        ..Forget::default()
    };
    if let (Some(path), Some(principal)) = (&arguments.disclosure_key, &what.principal) {
        what.decisions = named(setup, project, path, principal).await?.into_iter().collect();
    }
    let forgotten = setup.forget(project, &what, OPERATOR).await?;
    println!(
        "{} API keys revoked, {} actions, {} bodies emptied under {} tombstones",
        forgotten.keys.len(),
        forgotten.actions,
        forgotten.bodies,
        forgotten.tombstones
    );
    println!(
        "Backups, copies and receipts in other hands are not ours to empty: docs/retention.md says what is where."
    );
    Ok(())
}

/// Decisions whose openings name the principal.
async fn named(
    setup: &Setup,
    project: ProjectId,
    path: &Path,
    principal: &str,
) -> anyhow::Result<Vec<Digest>> {
    let key = DisclosureKey::parse(&read_private(path)?).with_context(|| format!("`{}`", path.display()))?;
    let (mut found, mut after, mut sealed_otherwise) = (Vec::new(), None, 0);
    loop {
        let openings = setup.openings(project, after).await?;
        let Some(last) = openings.last() else { break };
        after = Some(last.id);
        for opening in &openings {
            match key.open(&opening.jwe) {
                Some(opened) if names(&opened, principal) => found.push(opening.decision),
                Some(_) => {}
                None => sealed_otherwise += 1,
            }
        }
    }
    if sealed_otherwise > 0 {
        eprintln!("{sealed_otherwise} openings do not open with this key: whom they name is not known");
    }
    Ok(found)
}

/// Whether the principal that an opening reveals is this one.
fn names(opened: &[u8], principal: &str) -> bool {
    let opened: Option<serde_json::Value> = serde_json::from_slice(opened).ok();
    opened.is_some_and(|opened| opened["values"]["principal"] == principal)
}
