//! The body of an HTTP answer on its way out: one JSON document, or a stream of server-sent events.

use super::message::{Answered, answered};
use crate::capability::Admitted;
use serde_json::Value;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Form {
    Document,
    Events,
}

impl Form {
    /// None for a body that is not ours to look into.
    pub(super) fn of(content_type: &str) -> Option<Self> {
        let content_type = content_type.to_ascii_lowercase();
        if content_type.starts_with("text/event-stream") {
            Some(Self::Events)
        } else {
            content_type.starts_with("application/json").then_some(Self::Document)
        }
    }
}

pub(super) struct Rewriter {
    form: Form,
    id: Value,
    call: Admitted,
    rest: Vec<u8>,
    /// So much of it holds no end of an event.
    searched: usize,
}

impl Rewriter {
    pub(super) fn new(form: Form, id: Value, call: Admitted) -> Self {
        Self { form, id, call, rest: Vec::new(), searched: 0 }
    }

    /// What may leave now.
    pub(super) async fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.rest.extend_from_slice(bytes);
        let mut out = Vec::new();
        if self.form == Form::Events {
            while let Some(end) = end_of_event(&self.rest, self.searched) {
                let event: Vec<u8> = self.rest.drain(..end).collect();
                self.searched = 0;
                out.extend(self.event(event).await);
            }
            // The longest end has four bytes, and three of them may be here.
            self.searched = self.rest.len().saturating_sub(3);
        }
        out
    }

    pub(super) async fn end(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.rest);
        match self.form {
            Form::Events => rest,
            Form::Document if rest.is_empty() => rest,
            Form::Document => match answered(&rest, &self.id, &self.call).await {
                Answered::With(text) => text,
                Answered::AsItCame | Answered::NotOurs => rest,
            },
        }
    }

    async fn event(&self, event: Vec<u8>) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(&event) else { return event };
        let lines = || text.trim_end().lines();
        let data = lines().filter_map(|line| line.strip_prefix("data:"));
        let data: Vec<&str> = data.map(|data| data.strip_prefix(' ').unwrap_or(data)).collect();
        match answered(data.join("\n").as_bytes(), &self.id, &self.call).await {
            Answered::With(answer) => {
                let mut out = Vec::new();
                for line in lines().filter(|line| !line.starts_with("data:")) {
                    out.extend_from_slice(line.as_bytes());
                    out.push(b'\n');
                }
                out.extend_from_slice(b"data: ");
                out.extend(answer);
                out.extend_from_slice(b"\n\n");
                out
            }
            Answered::AsItCame | Answered::NotOurs => event,
        }
    }
}

/// Where the first event ends, its blank line included.
fn end_of_event(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = &bytes[from..];
    let find = |end: &[u8]| rest.windows(end.len()).position(|at| at == end).map(|at| from + at + end.len());
    match (find(b"\n\n"), find(b"\r\n\r\n")) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
