//! Asking an evidence service, from the outside.
//!
//! Promised: HTTPS, or this machine; no redirect is followed and no proxy asked, so a key goes to whom it was meant for.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use counterfoil_jwks::file::read_private;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};
use zeroize::Zeroizing;

/// For one small answer. A download is bounded by how long it may be silent.
const SILENCE: Duration = Duration::from_secs(30);

/// An address that may be asked: `https`, or `http` on this machine. Without a slash at its end.
pub fn address(text: &str) -> anyhow::Result<String> {
    let url: Url = text.parse().with_context(|| format!("`{text}`"))?;
    let host = url.host_str().unwrap_or_default();
    let here = matches!(host, "localhost" | "127.0.0.1" | "[::1]") || host.ends_with(".localhost");
    ensure!(
        url.scheme() == "https" || (url.scheme() == "http" && here),
        "`{text}` is neither https nor on this machine"
    );
    ensure!(url.username().is_empty() && url.password().is_none(), "an address holds no credentials");
    ensure!(url.query().is_none() && url.fragment().is_none(), "`{text}` has more than a path");
    Ok(text.trim_end_matches('/').to_owned())
}

/// A client that sends this key, or none.
pub fn client(key: Option<&str>) -> anyhow::Result<Client> {
    let mut headers = HeaderMap::new();
    if let Some(key) = key {
        let mut value =
            HeaderValue::from_str(&format!("Bearer {key}")).context("the API key is no header")?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    let builder = Client::builder().default_headers(headers).no_proxy();
    let builder = builder.redirect(reqwest::redirect::Policy::none());
    Ok(builder.connect_timeout(SILENCE).read_timeout(SILENCE).build()?)
}

/// The key in a file of its owner's, or in COUNTERFOIL_KEY.
pub fn api_key(file: Option<&Path>) -> anyhow::Result<Zeroizing<String>> {
    let text = match file {
        Some(path) => {
            let bytes = read_private(path)?;
            Zeroizing::new(std::str::from_utf8(&bytes).context("the key file is not text")?.to_owned())
        }
        None => Zeroizing::new(
            std::env::var("COUNTERFOIL_KEY").context("set COUNTERFOIL_KEY, or name a --key-file")?,
        ),
    };
    Ok(Zeroizing::new(text.trim().to_owned()))
}

/// A small answer's bytes, if it says 200.
pub async fn small(answer: Response, most: usize) -> anyhow::Result<Vec<u8>> {
    let (status, url) = (answer.status(), answer.url().clone());
    let bytes = read(answer, most).await.with_context(|| format!("`{url}`"))?;
    if status != StatusCode::OK && status != StatusCode::ACCEPTED {
        bail!("`{url}` answers {status}{}", said(&bytes));
    }
    Ok(bytes)
}

async fn read(mut answer: Response, most: usize) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        ensure!(bytes.len() + chunk.len() <= most, "more than {most} bytes");
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// What our services say in an error.
fn said(body: &[u8]) -> String {
    let body: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let message = body.as_ref().and_then(|body| body["error"]["message"].as_str());
    message.map(|message| format!(": {message}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn a_key_travels_under_https_or_on_this_machine() {
        for good in
            ["https://gw.example", "http://127.0.0.1:8788/", "http://[::1]:1", "http://counterfoil.localhost"]
        {
            assert!(address(good).is_ok(), "{good}");
        }
        for bad in [
            "http://gw.example",
            "http://127.0.0.1.evil.example",
            "http://localhost.evil.example",
            "https://ann:secret@gw.example",
            "https://gw.example/?key=1",
            "ftp://127.0.0.1",
            "gw.example",
        ] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }
}
