//! `counterfoil epochs`: the days of a record. List them, archive one, erase one, check an archive.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use counterfoil_core::statement::Removal;
use counterfoil_evidence::retention::{Day, EpochRow};
use sha2::{Digest as _, Sha256};

use crate::archive::{check, digest, line};
use crate::deployment::Folder;
use crate::deployment::founding::OPERATOR;
use crate::deployment::opened::Opened;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Show each day, its entries, and how many bodies are there
    List {
        #[command(flatten)]
        place: Place,
    },
    /// Write a day's bodies to a file, print its digest, then erase them here
    Archive {
        #[command(flatten)]
        place: Place,

        /// A day that is over, such as 2026-11-30
        day: Day,

        /// The folder to write to
        #[arg(long)]
        to: PathBuf,

        /// Only write: erase nothing
        #[arg(long)]
        keep: bool,
    },
    /// Erase a day's bodies for good
    Erase {
        #[command(flatten)]
        place: Place,

        /// A day that is over, such as 2026-11-30
        day: Day,

        /// Really: what is emptied does not come back
        #[arg(long)]
        yes: bool,
    },
    /// Hold an archive against itself: every body has the digest that its entry names, in one chain
    Check { file: PathBuf },
}

#[derive(clap::Args)]
pub struct Place {
    /// The deployment's folder
    #[arg(long, default_value = ".counterfoil")]
    dir: PathBuf,
}

const BROKEN: u8 = 40;

pub async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::List { place } => list(&place).await?,
        Command::Archive { place, day, to, keep } => archive(&place, day, &to, keep).await?,
        Command::Erase { place, day, yes } => {
            ensure!(yes, "what is emptied does not come back: say --yes to go on, or archive the day");
            let opened = Opened::open(&Folder::open(&place.dir)?).await?;
            erase(&opened, day, Removal::Request).await?;
        }
        Command::Check { file } => {
            let found = check(&file).with_context(|| format!("`{}`", file.display()));
            return Ok(match found {
                Ok(found) => {
                    println!("{found}");
                    ExitCode::SUCCESS
                }
                Err(error) => {
                    println!("BROKEN {error:#}");
                    ExitCode::from(BROKEN)
                }
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(place: &Place) -> anyhow::Result<()> {
    let opened = Opened::open(&Folder::open(&place.dir)?).await?;
    println!("{:<10}  {:>10}  {:>10}  {:>8}  {:>8}", "day", "first", "last", "bodies", "erased");
    for EpochRow { day, first, last, bodies, erased } in opened.setup.epochs(opened.record.id).await? {
        println!("{day:<10}  {first:>10}  {last:>10}  {bodies:>8}  {erased:>8}");
    }
    println!("{} days are kept", opened.setup.retention_days(opened.record.id).await?);
    Ok(())
}

async fn archive(place: &Place, day: Day, to: &Path, keep: bool) -> anyhow::Result<()> {
    let opened = Opened::open(&Folder::open(&place.dir)?).await?;
    let epochs = opened.setup.epochs(opened.record.id).await?;
    let epoch =
        epochs.iter().find(|epoch| epoch.day == day).with_context(|| format!("{day} has no entry"))?;
    std::fs::create_dir_all(to).with_context(|| format!("`{}`", to.display()))?;
    let path = to.join(format!("{}-{day}.ndjson", opened.record.issuer.name()));
    ensure!(!path.exists(), "`{}` is there already", path.display());
    let written = write(&opened, epoch, to, &path).await?;
    let found = check(&path).with_context(|| format!("`{}`: nothing was erased", path.display()))?;
    ensure!(
        found.digest == written,
        "`{}` reads otherwise than it was written: nothing was erased",
        path.display()
    );
    println!("{found}\n  in `{}`", path.display());
    if !keep {
        erase(&opened, day, Removal::Archive).await?;
    }
    Ok(())
}

/// Into a file beside it first: what has the name is whole, and on the disk.
async fn write(opened: &Opened, epoch: &EpochRow, folder: &Path, path: &Path) -> anyhow::Result<String> {
    let fresh = tempfile::NamedTempFile::new_in(folder)?;
    let (mut out, mut hasher) = (BufWriter::new(fresh), Sha256::new());
    let mut next = epoch.first;
    while next <= epoch.last {
        let page = opened.setup.archived(opened.record.id, next, epoch.last).await?;
        ensure!(
            page.first().is_some_and(|first| first.entry.seq == next),
            "entry {next} is not there; run fsck"
        );
        for archived in page {
            ensure!(archived.entry.seq == next, "entry {next} is not there; run fsck");
            next += 1;
            let line = line(archived)?;
            hasher.update(&line);
            out.write_all(&line)?;
        }
    }
    let fresh = out.into_inner()?;
    fresh.as_file().sync_all()?;
    fresh.persist_noclobber(path)?;
    File::open(folder)?.sync_all()?;
    Ok(digest(hasher))
}

async fn erase(opened: &Opened, day: Day, removal: Removal) -> anyhow::Result<()> {
    let erased = opened.setup.erase_epoch(opened.record.id, day, removal, OPERATOR).await?;
    println!("{} bodies of {day} emptied under {} tombstones", erased.bodies, erased.tombstones);
    Ok(())
}
