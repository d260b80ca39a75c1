//! `counterfoil import <host>`: the servers of an agent host, behind the gateway.
//!
//! Promised: nothing is written unless everything can be carried over, or `--leave-others` was said; the host's file is
//! kept beside itself first; a second run finds nothing to do. Values of variables go into files of their owner, values of
//! headers are sealed, and none is ever printed. The old file that is kept holds what it held, for its owner alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use counterfoil_core::id::ProviderId;
use counterfoil_jwks::file;

use super::wrap::drafted;
use crate::deployment::listing::HeadersFrom;
use crate::deployment::providers::{HeaderValues, ProviderPlan};
use crate::deployment::{Folder, credentials};
use crate::draft::{Draft, Place, provider_id};
use crate::import::{Carried, Child, Entry, Fate, Host, HostFile, Refusal, Remote, Surroundings, carry};

#[derive(clap::Args)]
pub struct Arguments {
    /// Whose configuration
    host: Host,

    /// The file; otherwise those that the host reads for this folder and this person
    #[arg(long)]
    file: Vec<PathBuf>,

    /// The deployment's folder
    #[arg(long, default_value = ".counterfoil")]
    dir: PathBuf,

    /// Where the gateway will listen
    #[arg(long, default_value = "http://127.0.0.1:8787")]
    gateway: String,

    /// Import what can be carried over, and leave the rest ungoverned as it is
    #[arg(long)]
    leave_others: bool,
}

/// One host's file, and what is to become of it.
struct Change {
    path: PathBuf,
    file: HostFile,
    moves: Vec<(Entry, Carried)>,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let folder = Folder::open(&arguments.dir)?;
    let mut place = Place::open(Path::new("."))?;
    let (changes, mut refusals) = read(&arguments)?;
    let (mut ready, mut new) = (Vec::new(), BTreeMap::new());
    for change in changes {
        let mut moved = Vec::new();
        for (entry, carried) in change.moves {
            match settled(&entry, carried, &place, &folder, &new).await {
                Ok(Settled::Known(id)) => moved.push((entry, id)),
                Ok(Settled::New(server)) => {
                    let id = server.draft.provider.clone();
                    place.reserve(&id, &server.plan);
                    new.insert(id.clone(), server);
                    moved.push((entry, id));
                }
                Err(error) => refusals.push(Refusal { place: entry.place(), reason: format!("{error:#}") }),
            }
        }
        ready.push((change.path, change.file, moved));
    }
    for refusal in &refusals {
        eprintln!("not carried over: {refusal}");
    }
    if !refusals.is_empty() && !arguments.leave_others {
        bail!("nothing was changed; `--leave-others` imports the rest and leaves these ungoverned");
    }
    if ready.iter().all(|(_, _, moved)| moved.is_empty()) {
        println!("nothing to import");
        return Ok(());
    }
    let key_file = place.keep_key_in(&folder.agent_key())?;
    let program = std::env::current_exe()?;
    for (path, mut file, moved) in ready.into_iter().filter(|(_, _, moved)| !moved.is_empty()) {
        for (entry, id) in &moved {
            if let Some(server) = new.remove(id) {
                keep(&server, &mut place, &folder)?;
            }
            let bridge = bridge(id, &arguments.gateway, &key_file)?;
            file.replace(entry, &program, &bridge)?;
        }
        replace_keeping_old(&path, &file.text())?;
    }
    println!("next       counterfoil dev, and then start the host again");
    Ok(())
}

/// What can be moved of every file, and what cannot.
fn read(arguments: &Arguments) -> anyhow::Result<(Vec<Change>, Vec<Refusal>)> {
    let home = std::env::var_os("HOME").map(PathBuf::from).context("HOME is not set")?;
    let here = std::env::current_dir()?;
    let usual = arguments.host.files(&here, &home);
    let wanted = if arguments.file.is_empty() { &usual } else { &arguments.file };
    let found: Vec<&PathBuf> = wanted.iter().filter(|path| path.exists()).collect();
    if found.is_empty() {
        let looked: Vec<String> = wanted.iter().map(|path| format!("`{}`", path.display())).collect();
        bail!("there is no configuration: looked for {}", looked.join(", "));
    }
    let (mut changes, mut refusals) = (Vec::new(), Vec::new());
    for path in found {
        // Some people keep these files elsewhere and link to them; the link stays.
        let path = fs::canonicalize(path).with_context(|| format!("`{}`", path.display()))?;
        let text = fs::read_to_string(&path).with_context(|| format!("`{}`", path.display()))?;
        let file = HostFile::parse(arguments.host, &text).with_context(|| format!("`{}`", path.display()))?;
        let mut moves = Vec::new();
        for entry in file.entries().with_context(|| format!("`{}`", path.display()))? {
            let around = Surroundings {
                environment: &|name| std::env::var(name).ok(),
                home: home.clone(),
                workspace: arguments.host.workspace(&path, &entry.keys),
                gateway: &arguments.gateway,
            };
            match carry(arguments.host, &entry, &around) {
                Fate::Carried(carried) => moves.push((entry, carried)),
                Fate::Ours => println!("ours       {} already", entry.place()),
                Fate::SwitchedOff => println!("left       {} is switched off", entry.place()),
                Fate::Refused(refused) => refusals.extend(refused),
            }
        }
        changes.push(Change { path, file, moves });
    }
    Ok((changes, refusals))
}

enum Settled {
    /// counterfoil.toml starts or reaches the same already.
    Known(ProviderId),
    New(Box<New>),
}

struct New {
    draft: Draft,
    plan: ProviderPlan,
    headers: HeaderValues,
}

/// The server is asked once, as the gateway will ask it.
async fn settled(
    entry: &Entry,
    carried: Carried,
    place: &Place,
    folder: &Folder,
    new: &BTreeMap<ProviderId, Box<New>>,
) -> anyhow::Result<Settled> {
    let (plan, headers) = match carried {
        Carried::Child(Child { command, env, folder }) => {
            (ProviderPlan { env, folder, ..ProviderPlan::of(command) }, HeaderValues::new())
        }
        Carried::Remote(Remote { url, headers }) => {
            (ProviderPlan::at(url, headers.keys().cloned().collect()), headers)
        }
    };
    // One address under two accounts is two providers.
    for id in place.reached_by(&plan) {
        let same = match (new.get(id), &plan.url) {
            (Some(other), _) => is_same(&other.headers, &headers),
            (None, Some(url)) => credentials::holds(folder, id, url, &headers)?,
            (None, None) => true,
        };
        if same {
            return Ok(Settled::Known(id.clone()));
        }
    }
    let wish = provider_id(&[entry.name().to_owned()]);
    let draft = drafted(place.free(&wish), &plan, HeadersFrom::Hand(&headers), folder).await?;
    Ok(Settled::New(Box::new(New { draft, plan, headers })))
}

fn is_same(one: &HeaderValues, other: &HeaderValues) -> bool {
    one.len() == other.len()
        && one.iter().all(|(name, value)| other.get(name).is_some_and(|theirs| theirs.is_same(value)))
}

/// Writes our three files, the variables beside the keys, and seals the headers.
fn keep(New { draft, plan, headers }: &New, place: &mut Place, folder: &Folder) -> anyhow::Result<()> {
    let id = draft.provider.clone();
    let mut written = plan.clone();
    if !plan.env.is_empty() {
        let path = folder.provider_env(&id);
        file::replace(&path, toml::to_string(&plan.env)?.as_bytes())?;
        (written.env, written.env_file) = (BTreeMap::new(), Some(path));
        let names: Vec<&str> = plan.env.keys().map(String::as_str).collect();
        println!("variables  {id}: {} (the values lie in the deployment's folder)", names.join(" "));
    }
    if let Some(url) = &plan.url {
        credentials::seal(folder, &id, url, headers)?;
        for name in headers.keys() {
            println!("sealed     {id} {name}");
        }
    }
    place.add(draft, &written)?;
    print!("{}", draft.shown());
    Ok(())
}

fn bridge(id: &ProviderId, gateway: &str, key_file: &Path) -> anyhow::Result<Vec<String>> {
    let key_file = key_file.to_str().context("the deployment's folder is no text")?;
    Ok(["stdio", id.as_str(), "--gateway", gateway, "--key-file", key_file].map(str::to_owned).to_vec())
}

/// The old file stays beside the new one, under a name that was free, for its owner alone: what was secret in it still
/// is.
fn replace_keeping_old(path: &Path, text: &str) -> anyhow::Result<()> {
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let numbered = (2..).map(|number| beside(&format!(".before-counterfoil-{number}")));
    let mut names = [beside(".before-counterfoil")].into_iter().chain(numbered);
    let kept = names.find(|name| !name.exists()).context("no name is free")?;
    file::write_new(&kept, &fs::read(path)?).with_context(|| format!("`{}`", kept.display()))?;
    // A copy keeps the mode that the host chose.
    let new = beside(".counterfoil-new");
    fs::copy(path, &new).with_context(|| format!("`{}`", new.display()))?;
    let written = fs::write(&new, text).and_then(|()| fs::rename(&new, path));
    written.with_context(|| format!("`{}`", path.display()))?;
    println!("changed    {}", path.display());
    println!("kept       {}: as it was, secrets too; remove it when all is well", kept.display());
    Ok(())
}
