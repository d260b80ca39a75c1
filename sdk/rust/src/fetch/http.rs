//! A client over HTTP.

use super::{Bounds, Fetch, FetchError, Later};
use reqwest::{Client, Response};

impl From<reqwest::Error> for FetchError {
    fn from(error: reqwest::Error) -> Self {
        // The cause is in the sources, and says more than "error sending request".
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            text = format!("{text}: {inner}");
            cause = inner.source();
        }
        Self(text)
    }
}

/// Fetches over HTTP. What an operator configured is asked, and nobody else: no proxy of the environment, no redirect.
#[derive(Clone)]
pub struct Http(Client);

pub(crate) fn client() -> Result<Client, FetchError> {
    let builder = Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    Ok(builder.build()?)
}

impl Http {
    /// Fails where the machine has no roots of trust.
    pub fn new() -> Result<Self, FetchError> {
        client().map(Self)
    }
}

impl Fetch for Http {
    fn get<'f>(&'f self, address: &'f str, bounds: Bounds) -> Later<'f, Result<Vec<u8>, FetchError>> {
        Box::pin(async move {
            let answer = self.0.get(address).timeout(bounds.within).send().await?;
            match answer.status().as_u16() {
                200 => bounded(answer, bounds.most).await,
                status => Err(FetchError(format!("`{address}`: {status}"))),
            }
        })
    }
}

/// The body, if it is not longer.
pub(crate) async fn bounded(mut answer: Response, most: usize) -> Result<Vec<u8>, FetchError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > most {
            return Err(FetchError(format!("`{}`: more than {most} bytes", answer.url())));
        }
    }
    Ok(bytes)
}
