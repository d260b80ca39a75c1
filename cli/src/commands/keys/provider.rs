//! `counterfoil keys provider`: keys that providers sign their statements with.
//!
//! Promised: nothing is imported before somebody compared its fingerprint, named with `--fingerprint` or asked for at the
//! terminal; a key set is fetched when it is imported and never again.

use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use counterfoil_core::id::ProviderId;
use counterfoil_core::key::Thumbprint;
use counterfoil_core::time::Timestamp;
use counterfoil_evidence::keys::offer::{KeyOffer, LARGEST_OFFER};

use super::{Place, time};
use crate::deployment::Folder;
use crate::deployment::founding::OPERATOR;
use crate::deployment::opened::Opened;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Import a key from a JWK, a JWK set or a PEM, pasted or fetched once
    Import {
        #[command(flatten)]
        place: Place,

        /// Whose keys they are: the provider's id in the registry
        provider: ProviderId,

        /// A file; `-` or nothing reads standard input
        #[arg(long, conflicts_with = "url")]
        file: Option<PathBuf>,

        /// An HTTPS address of a JWK set; it becomes public
        #[arg(long)]
        url: Option<String>,

        /// The thumbprint (RFC 7638) that the provider told you; may stand several times
        #[arg(long)]
        fingerprint: Vec<Thumbprint>,
    },
    /// Show every key of every provider
    List {
        #[command(flatten)]
        place: Place,
    },
    /// Take back a key under which nothing was signed yet
    Delete {
        #[command(flatten)]
        place: Place,

        thumbprint: Thumbprint,
    },
    /// Revoke a key, from now on
    Revoke {
        #[command(flatten)]
        place: Place,

        thumbprint: Thumbprint,

        /// Since when others may have had it
        #[arg(long, value_parser = time)]
        compromised_since: Option<Timestamp>,
    },
}

pub async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Import { place, provider, file, url, fingerprint } => {
            let opened = Opened::open(&Folder::open(&place.dir)?).await?;
            let offer = match (url, file) {
                (Some(url), _) => opened.setup.fetch_provider_keys(&url).await?,
                (None, Some(path)) if path.as_os_str() != "-" => KeyOffer::pasted(&read(&path)?)?,
                (None, _) => KeyOffer::pasted(&read_standard_input()?)?,
            };
            import(&opened, &provider, offer, fingerprint).await
        }
        Command::List { place } => list(&Opened::open(&Folder::open(&place.dir)?).await?).await,
        Command::Delete { place, thumbprint } => {
            let opened = Opened::open(&Folder::open(&place.dir)?).await?;
            opened.setup.delete_provider_key(opened.record.id, &thumbprint, OPERATOR).await?;
            println!("{thumbprint} counts no longer; the entry that introduced it stays");
            Ok(())
        }
        Command::Revoke { place, thumbprint, compromised_since } => {
            let opened = Opened::open(&Folder::open(&place.dir)?).await?;
            opened.setup.revoke_key(opened.record.id, &thumbprint, compromised_since, OPERATOR).await?;
            println!("{thumbprint} counts for nothing from here on; what it signed before stands");
            Ok(())
        }
    }
}

async fn import(
    opened: &Opened,
    provider: &ProviderId,
    offer: KeyOffer,
    named: Vec<Thumbprint>,
) -> anyhow::Result<()> {
    if let Some(source) = offer.source() {
        println!("from {} at {}, {}", source.url, source.at, source.digest);
    }
    for skipped in offer.skipped() {
        println!("left out {}: {}", skipped.name, skipped.why);
    }
    let fingerprints = if named.is_empty() { ask(&offer, provider)? } else { named };
    let confirmed = offer.confirm(&fingerprints)?;
    let imported = opened.setup.import_provider_keys(opened.record.id, provider, confirmed, OPERATOR).await?;
    for key in imported {
        match key.seq {
            Some(seq) => println!("{} is a key of {provider} from entry {seq} on", key.thumbprint),
            None => println!("{} was a key of {provider} already", key.thumbprint),
        }
    }
    Ok(())
}

/// Each fingerprint is asked for by itself: one yes for ten keys would be compared with none.
fn ask(offer: &KeyOffer, provider: &ProviderId) -> anyhow::Result<Vec<Thumbprint>> {
    let input = std::io::stdin();
    if !input.is_terminal() {
        let offered: Vec<String> = offer.keys().iter().map(|key| key.key.thumbprint().to_string()).collect();
        bail!(
            "compare the fingerprint with what {provider} told you, and name it with --fingerprint; offered: {}",
            offered.join(", ")
        );
    }
    let mut confirmed = Vec::new();
    for offered in offer.keys() {
        let thumbprint = offered.key.thumbprint();
        let names = offered.names.join(", ");
        print!("{thumbprint}  {names}\nIs this the fingerprint that {provider} told you? Type yes: ");
        std::io::stdout().flush()?;
        let mut answer = String::new();
        input.read_line(&mut answer)?;
        if answer.trim() == "yes" {
            confirmed.push(thumbprint);
        }
    }
    Ok(confirmed)
}

async fn list(opened: &Opened) -> anyhow::Result<()> {
    for key in opened.setup.provider_keys(opened.record.id).await? {
        let state = match (key.ended_at, key.revoked) {
            (Some(at), true) => format!("revoked {at}"),
            (Some(at), false) => format!("deleted {at}"),
            (None, _) => key.used.map_or_else(
                || "nothing signed yet".to_owned(),
                |seq| format!("possession shown by entry {seq}"),
            ),
        };
        let names = key.names.join(", ");
        println!("{:<16} {}  from {}  {state}  {names}", key.provider, key.thumbprint, key.introduced_at);
    }
    Ok(())
}

fn read(path: &std::path::Path) -> anyhow::Result<Vec<u8>> {
    let file = std::fs::File::open(path).with_context(|| format!("`{}`", path.display()))?;
    bounded(file).with_context(|| format!("`{}`", path.display()))
}

fn read_standard_input() -> anyhow::Result<Vec<u8>> {
    bounded(std::io::stdin()).context("standard input")
}

/// One byte more than is read as a key, so that what is too long is noticed.
fn bounded(from: impl Read) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    from.take(LARGEST_OFFER as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use counterfoil_evidence::keys::offer::KeyOffer;
    use josekit::jwk::KeyPair;
    use josekit::jwk::alg::ed::{EdCurve, EdKeyPair};

    /// C4: another reader of the same texts, OpenSSL, finds the same key in them.
    #[test]
    fn a_key_that_openssl_made_is_read_as_openssl_reads_it() {
        let pair = EdKeyPair::generate(EdCurve::Ed25519).unwrap();
        let jwk = pair.to_jwk_public_key();

        let from_pem = KeyOffer::pasted(&pair.to_pem_public_key()).unwrap();
        let from_jwk = KeyOffer::pasted(jwk.to_string().as_bytes()).unwrap();

        let x = jwk.parameter("x").unwrap().as_str().unwrap();
        assert_eq!(from_pem.keys()[0].key.x(), x);
        assert_eq!(from_jwk.keys()[0].key.x(), x);
        assert!(KeyOffer::pasted(&pair.to_pem_private_key()).is_err());
        assert!(KeyOffer::pasted(&EdKeyPair::generate(EdCurve::Ed448).unwrap().to_pem_public_key()).is_err());
    }
}
