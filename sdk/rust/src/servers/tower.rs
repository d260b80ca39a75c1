//! The guard as a tower layer, on the bytes of the request.
//!
//!     let app = Router::new().route("/mcp", post(mcp)).layer(GuardLayer::new(guard));
//!
//! It leaves the [`Admitted`](crate::capability::Admitted) call in the request's extensions. Not promised: a signed
//! execution in an answer that leaves by another request than the one that asked (stream resumption); `on_execution` has it.

use super::LARGEST_MESSAGE;
use super::message::{Judged, judge, read};
use super::rewriter::{Form, Rewriter};
use crate::capability::Guard;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use serde_json::{Value, json};
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

/// Whatever went wrong with a body.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// The body of every answer: the inner one's, or the guard's own.
pub type ResponseBody = UnsyncBoxBody<Bytes, BoxError>;

/// Puts a [`Guard`] before a service. Stands outside whatever reads bodies, and inside whatever compresses answers: it signs for
/// a result that it can read.
#[derive(Clone)]
pub struct GuardLayer(Guard);

impl GuardLayer {
    #[must_use]
    pub fn new(guard: Guard) -> Self {
        Self(guard)
    }
}

impl<S> Layer<S> for GuardLayer {
    type Service = GuardService<S>;

    fn layer(&self, inner: S) -> GuardService<S> {
        GuardService { inner, guard: self.0.clone() }
    }
}

/// A service behind its guard.
#[derive(Clone)]
pub struct GuardService<S> {
    inner: S,
    guard: Guard,
}

impl<S, B, R> Service<Request<B>> for GuardService<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    B: Body<Data = Bytes> + From<Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
    R: Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    type Response = Response<ResponseBody>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The service that was asked whether it is ready is the one to call.
        let other = self.inner.clone();
        let inner = std::mem::replace(&mut self.inner, other);
        let guard = self.guard.clone();
        Box::pin(async move { pass(request, inner, &guard).await })
    }
}

/// Every other method may carry a message, so it is read.
fn carries_no_call(method: &Method) -> bool {
    [Method::GET, Method::HEAD, Method::OPTIONS, Method::DELETE].contains(method)
}

async fn pass<S, B, R>(
    request: Request<B>,
    mut inner: S,
    guard: &Guard,
) -> Result<Response<ResponseBody>, S::Error>
where
    S: Service<Request<B>, Response = Response<R>>,
    B: Body<Data = Bytes> + From<Bytes>,
    B::Error: Into<BoxError>,
    R: Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    if carries_no_call(request.method()) {
        return Ok(inner.call(request).await?.map(boxed));
    }
    let (mut parts, body) = request.into_parts();
    let bytes = match bytes_of(body).await {
        Ok(bytes) => bytes,
        Err(refused) => return Ok(*refused),
    };
    let message = match read(&bytes) {
        Ok(message) => message,
        Err(refusal) => return Ok(reply(StatusCode::BAD_REQUEST, &refusal)),
    };
    let header = match presented(&parts.headers) {
        Ok(header) => header.map(str::to_owned),
        Err(refused) => return Ok(*refused),
    };
    match judge(message, guard, header.as_deref()).await {
        Judged::Refused(answer) if answer["id"].is_null() => Ok(reply(StatusCode::BAD_REQUEST, &answer)),
        Judged::Refused(answer) => Ok(reply(StatusCode::OK, &answer)),
        Judged::Dropped => Ok(empty(StatusCode::ACCEPTED)),
        Judged::Other => Ok(inner.call(Request::from_parts(parts, B::from(bytes))).await?.map(boxed)),
        Judged::Admitted { id, call } => {
            parts.extensions.insert(call.clone());
            let answer = inner.call(Request::from_parts(parts, B::from(bytes))).await?;
            let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
            Ok(match Form::of(kind) {
                Some(form) => outgoing(answer, Rewriter::new(form, id, call)),
                None => answer.map(boxed),
            })
        }
    }
}

/// Two headers are two capabilities, and bytes beside ASCII are none.
fn presented(headers: &HeaderMap) -> Result<Option<&str>, Box<Response<ResponseBody>>> {
    let mut all = headers.get_all("tool-capability").iter();
    let refuse = || {
        let error =
            json!({ "code": -32600, "message": "the header Tool-Capability does not read as one token" });
        Box::new(reply(StatusCode::BAD_REQUEST, &json!({ "jsonrpc": "2.0", "id": null, "error": error })))
    };
    let first = all.next().map(HeaderValue::to_str).transpose().map_err(|_| refuse())?;
    if all.next().is_some() { Err(refuse()) } else { Ok(first) }
}

async fn bytes_of<B>(body: B) -> Result<Bytes, Box<Response<ResponseBody>>>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let mut body = pin!(body);
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        // Whoever sends half a message is gone, or wants to be.
        let Ok(frame) = frame else { return Err(Box::new(empty(StatusCode::BAD_REQUEST))) };
        bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| data.as_ref()));
        if bytes.len() > LARGEST_MESSAGE {
            let error = json!({ "code": -32600, "message": "body too large" });
            let answer = json!({ "jsonrpc": "2.0", "id": null, "error": error });
            return Err(Box::new(reply(StatusCode::PAYLOAD_TOO_LARGE, &answer)));
        }
    }
    Ok(bytes.into())
}

fn boxed<R>(body: R) -> ResponseBody
where
    R: Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    body.map_err(Into::into).boxed_unsync()
}

fn reply(status: StatusCode, answer: &Value) -> Response<ResponseBody> {
    let mut response = Response::new(boxed(Full::from(answer.to_string())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn empty(status: StatusCode) -> Response<ResponseBody> {
    let mut response = Response::new(boxed(Full::from(Bytes::new())));
    *response.status_mut() = status;
    response
}

/// An answer under way: what was read of it leaves as soon as it is signed for.
struct Outgoing {
    body: ResponseBody,
    rewriter: Rewriter,
    trailers: Option<Frame<Bytes>>,
    is_over: bool,
}

fn outgoing<R>(answer: Response<R>, rewriter: Rewriter) -> Response<ResponseBody>
where
    R: Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    let (mut parts, body) = answer.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    let outgoing = Outgoing { body: boxed(body), rewriter, trailers: None, is_over: false };
    let frames = futures_util::stream::unfold(outgoing, Outgoing::next);
    Response::from_parts(parts, StreamBody::new(frames).boxed_unsync())
}

impl Outgoing {
    async fn next(mut self) -> Option<(Result<Frame<Bytes>, BoxError>, Self)> {
        while !self.is_over {
            let out = match self.body.frame().await {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rewriter.push(&data).await,
                    Err(trailers) => {
                        self.trailers = Some(trailers);
                        Vec::new()
                    }
                },
                Some(Err(error)) => {
                    self.is_over = true;
                    return Some((Err(error), self));
                }
                None => {
                    self.is_over = true;
                    self.rewriter.end().await
                }
            };
            if !out.is_empty() {
                return Some((Ok(Frame::data(out.into())), self));
            }
        }
        let trailers = self.trailers.take()?;
        Some((Ok(trailers), self))
    }
}
