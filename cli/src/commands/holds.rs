//! `counterfoil holds`: calls that wait for a person, and what the person says to them.
//!
//! Whoever runs this can run programs on this machine: the answer is an entry marked `local`, and the page says so.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, bail};
use counterfoil_core::digest::Digest;
use counterfoil_core::hold::Card;
use counterfoil_core::id::HoldId;
use counterfoil_core::statement::Say;
use counterfoil_evidence::setup::{Held, Shown, word};

use crate::deployment::Folder;
use crate::deployment::founding::OPERATOR;
use crate::deployment::opened::Opened;

#[derive(clap::Subcommand)]
pub enum Command {
    /// List held calls, newest first: hold, state, until when it can be answered, agent, tool
    List {
        /// The deployment's folder
        #[arg(long, default_value = ".counterfoil")]
        dir: PathBuf,

        /// Those that were answered, dispatched, expired or swept too
        #[arg(long)]
        all: bool,

        /// At most so many
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
        most: u32,
    },
    /// Show what one held call would do, as the registry classifies it
    Show {
        /// The hold, hld_…
        hold: HoldId,

        /// The deployment's folder
        #[arg(long, default_value = ".counterfoil")]
        dir: PathBuf,
    },
    /// Answer a held call: deny, approve once, or approve and grant the same for a time
    Answer {
        /// The hold, hld_…
        hold: HoldId,

        /// deny, once or for
        #[arg(value_parser = Word::from_str)]
        say: Word,

        /// With `for`: how long the grant stands, 5 to 43200 minutes
        #[arg(long)]
        minutes: Option<u32>,

        /// The card that was seen, as `show` prints it; another card is refused
        #[arg(long)]
        card: Digest,

        /// The deployment's folder
        #[arg(long, default_value = ".counterfoil")]
        dir: PathBuf,
    },
}

/// An answer as it is typed.
#[derive(Clone, Copy, Debug)]
pub struct Word(Say);

impl FromStr for Word {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "deny" => Ok(Self(Say::Deny)),
            "once" => Ok(Self(Say::ApproveOnce)),
            "for" => Ok(Self(Say::ApproveFor)),
            other => Err(format!("`{other}` is none of deny, once, for")),
        }
    }
}

/// Where nobody says how long.
const MINUTES: u32 = 30;

pub async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::List { dir, all, most } => {
            let opened = Opened::open(&Folder::open(&dir)?).await?;
            let shown = if all { Shown::All } else { Shown::Open };
            for held in opened.setup.holds(opened.record.id, shown, most).await? {
                println!("{}", line(&held));
            }
            Ok(())
        }
        Command::Show { hold, dir } => {
            let opened = Opened::open(&Folder::open(&dir)?).await?;
            print!("{}", text(&found(&opened, hold).await?));
            Ok(())
        }
        Command::Answer { hold, say: Word(say), minutes, card, dir } => {
            let opened = Opened::open(&Folder::open(&dir)?).await?;
            let held = found(&opened, hold).await?;
            let minutes = match say {
                Say::ApproveFor => Some(minutes.unwrap_or(MINUTES)),
                Say::Deny | Say::ApproveOnce if minutes.is_some() => bail!("only `for` takes --minutes"),
                Say::Deny | Say::ApproveOnce => None,
            };
            let (setup, project) = (&opened.setup, opened.record.id);
            let seen = (held.decision, card);
            let done = setup.answer_hold(project, hold, seen, (say, minutes), OPERATOR).await?;
            println!("answered, as entry {} says", done.seq);
            for grant in done.grants {
                println!("{grant}");
            }
            Ok(())
        }
    }
}

async fn found(opened: &Opened, hold: HoldId) -> anyhow::Result<Held> {
    let held = opened.setup.hold(opened.record.id, hold).await?;
    held.with_context(|| format!("`{hold}` is no hold of this project"))
}

/// One hold, in columns that a person and `cut` can read.
fn line(held: &Held) -> String {
    let Held { hold, expires_at, agent, provider, tool, .. } = held;
    format!("{hold}\t{}\t{expires_at}\t{agent}\t{provider}\t{tool}", word(held.is))
}

fn text(held: &Held) -> String {
    let mut text = format!(
        "hold      {}\nstate     {}\naction    {}\ndecision  {}\nagent     {}\ntool      {} of {}\nasked     {}\nexpires   {}\n",
        held.hold,
        word(held.is),
        held.action,
        held.decision,
        held.agent,
        held.tool,
        held.provider,
        held.asked_at,
        held.expires_at,
    );
    match &held.card {
        Some(card) => text.push_str(&shown(card)),
        None => text.push_str("card      wiped, or sealed under another key-encryption key\n"),
    }
    if held.once_only {
        text.push_str(
            "It can be denied, or approved for this one call: what is not known cannot be granted ahead.\n",
        );
    }
    text.push_str(&format!("card      {}\n", held.card_digest));
    if let Some(answered) = &held.answered {
        let until = answered.until.map(|until| format!(", until {until}")).unwrap_or_default();
        text.push_str(&format!("answer    {}{until}, {}\n", answered.say, answered.answer));
    }
    text
}

fn shown(card: &Card) -> String {
    let Some(class) = &card.class else {
        return format!("why       {}; the registry does not know this tool\n", card.reason);
    };
    let mut text = format!("why       {}\ndoes      {}.{}\n", card.reason, class.service, class.verb);
    for noun in &class.nouns {
        text.push_str(&format!("to        {} {}\n", noun.noun_type, escaped(&noun.value)));
    }
    for (name, value) in &class.fields {
        text.push_str(&format!("with      {} = {}\n", escaped(name), escaped(&value.to_string())));
    }
    text.push_str(&format!(
        "class     {}, data {}, to {}, {}, {}\n",
        class.operation, class.data_class, class.destination, class.magnitude, class.reversibility
    ));
    text
}

/// Arguments are an agent's: no control character of theirs reaches the terminal.
fn escaped(text: &str) -> String {
    let plain = |c: char| {
        !c.is_control()
            && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if plain(c) { c.to_string() } else { c.escape_unicode().to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_one_of_three_words() {
        assert!(matches!("deny".parse::<Word>().unwrap().0, Say::Deny));
        assert!(matches!("once".parse::<Word>().unwrap().0, Say::ApproveOnce));
        assert!(matches!("for".parse::<Word>().unwrap().0, Say::ApproveFor));
        for text in ["", "yes", "approve_once", "ONCE"] {
            assert!(text.parse::<Word>().is_err(), "{text}");
        }
    }

    /// G5: what an agent sent cannot paint over what a person reads.
    #[test]
    fn no_control_character_of_an_argument_reaches_the_terminal() {
        assert_eq!(escaped("a\u{1b}[2Jb\n\u{202e}c"), "a\\u{1b}[2Jb\\u{a}\\u{202e}c");
        assert_eq!(escaped("Grüße, 名前"), "Grüße, 名前");
    }
}
