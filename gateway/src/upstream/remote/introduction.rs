//! How a provider is found out: `server/discover`, and where that is not understood, `initialize`.
//!
//! Servers of the legacy era answer the first in many ways, and some not at all; only an answer that is one of the
//! modern era counts as such. What was found is remembered for the address, so that most connections ask once.

use super::{Era, Exchanged, Remote, Site, Speech};
use crate::raw::{Object, quoted};
use crate::upstream::Away;
use crate::upstream::connection::Outcome;
use reqwest::StatusCode;
use reqwest::header::HeaderValue;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const REVISIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];
/// Each of at most two questions.
const WITHIN: Duration = Duration::from_secs(10);

enum Found {
    Modern(Option<String>),
    Unreachable,
    /// Whatever else.
    Unclear,
}

impl Remote {
    pub async fn open(
        site: &Arc<Site>,
        provider: &str,
        stale: Arc<AtomicBool>,
    ) -> Result<(Self, Option<String>), Away> {
        let mut remote = Self {
            site: site.clone(),
            provider: provider.to_owned(),
            speech: Speech::Modern,
            next_id: AtomicU64::new(1),
            stale,
            gone: CancellationToken::new(),
        };
        if site.era() != Some(Era::Legacy) {
            match remote.discover().await {
                Found::Modern(instructions) => {
                    site.remember(Some(Era::Modern));
                    return Ok((remote, instructions));
                }
                Found::Unreachable => return Err(Away::Unreachable),
                Found::Unclear => {}
            }
        }
        let introduced = remote.initialize().await;
        site.remember(introduced.is_ok().then_some(Era::Legacy));
        introduced.map(|instructions| (remote, instructions))
    }

    async fn discover(&self) -> Found {
        let never = CancellationToken::new();
        let result = match self.ask(("server/discover", "{}"), None, WITHIN, &never).await {
            Outcome::Returned(result) => result,
            Outcome::Unsent => return Found::Unreachable,
            Outcome::Failed(_)
            | Outcome::TimedOut
            | Outcome::Cancelled
            | Outcome::Gone
            | Outcome::Oversized => {
                return Found::Unclear;
            }
        };
        let Ok(result) = Object::read_loosely(&result) else {
            return Found::Unclear;
        };
        let versions = result.value("supportedVersions").and_then(|raw| serde_json::from_str(raw).ok());
        let versions: Vec<Value> = versions.unwrap_or_default();
        match versions.iter().any(|version| version == super::REVISION) {
            true => Found::Modern(instructions(&result)),
            false => Found::Unclear,
        }
    }

    async fn initialize(&mut self) -> Result<Option<String>, Away> {
        self.speech = Speech::Legacy { revision: None, session: None };
        let params = format!(
            r#"{{"protocolVersion":"{}","capabilities":{{}},"clientInfo":{{"name":"counterfoil-gateway","version":"{}"}}}}"#,
            REVISIONS[0],
            env!("CARGO_PKG_VERSION")
        );
        let id = 0;
        let request = self.request(id, ("initialize", &params), None).ok_or(Away::NotIntroduced)?;
        let answered = tokio::time::timeout(WITHIN, self.exchange(id, request)).await;
        let (result, session) = match answered.map_err(|_| Away::NotIntroduced)? {
            Exchanged { outcome: Outcome::Returned(result), session, .. } => (result, session),
            Exchanged { outcome: Outcome::Unsent, .. } => return Err(Away::Unreachable),
            Exchanged { status: Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN), .. } => {
                return Err(Away::Unauthorized);
            }
            Exchanged { .. } => return Err(Away::NotIntroduced),
        };
        let result = Object::read_loosely(&result).map_err(|_| Away::NotIntroduced)?;
        let revision = REVISIONS
            .into_iter()
            .find(|known| result.value("protocolVersion") == Some(&quoted(known)))
            .ok_or(Away::NotIntroduced)?;
        // The first revision over HTTP did not know this header.
        let revision = (revision != "2025-03-26").then(|| HeaderValue::from_static(revision));
        self.speech = Speech::Legacy { revision, session };
        let notice = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        // Waited for, since some refuse what comes before it. One that refuses this says so with the next request.
        let notice = self.post(notice.to_owned()).ok_or(Away::NotIntroduced)?;
        let _ = tokio::time::timeout(WITHIN, notice.send()).await;
        Ok(instructions(&result))
    }
}

fn instructions(result: &Object<'_>) -> Option<String> {
    result.value("instructions").filter(|text| text.starts_with('"')).map(str::to_owned)
}
