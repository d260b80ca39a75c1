//! One line of a provider: an answer to us, a notice, or a request that nobody here grants.
//!
//! Not promised: that a provider writes only messages. Some print banners; such lines are counted and skipped.

use crate::raw::Object;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

#[derive(Debug, Eq, PartialEq)]
pub enum Line {
    Result { id: u64, result: String },
    Error { id: u64, error: String },
    Request { id: String, method: String },
    Notice { method: String },
    Other,
}

/// How reading a line ended.
#[derive(Debug, Eq, PartialEq)]
pub enum Read {
    Line(Vec<u8>),
    TooLong,
    End,
}

pub fn read(bytes: &[u8]) -> Line {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Line::Other;
    };
    let Ok(object) = Object::read(text) else {
        return Line::Other;
    };
    let method = object.value("method").and_then(|raw| serde_json::from_str::<String>(raw).ok());
    let id = object.value("id");
    match (method, id) {
        (Some(method), Some(id)) => Line::Request { id: id.to_owned(), method },
        (Some(method), None) => Line::Notice { method },
        (None, Some(id)) => answer(&object, id),
        (None, None) => Line::Other,
    }
}

fn answer(object: &Object<'_>, id: &str) -> Line {
    let Ok(id) = id.parse() else {
        return Line::Other;
    };
    match (object.value("error"), object.value("result")) {
        (Some(error), _) => Line::Error { id, error: error.to_owned() },
        (None, Some(result)) => Line::Result { id, result: result.to_owned() },
        (None, None) => Line::Other,
    }
}

/// Reads up to a line feed, or says that the line is longer than `limit`.
pub async fn next<R: AsyncBufRead + Unpin>(reader: &mut R, limit: usize) -> Read {
    let mut line = Vec::new();
    loop {
        let Ok(chunk) = reader.fill_buf().await else {
            return Read::End;
        };
        if chunk.is_empty() {
            return Read::End;
        }
        let end = chunk.iter().position(|b| *b == b'\n');
        let taken = end.unwrap_or(chunk.len());
        if line.len() + taken > limit {
            return Read::TooLong;
        }
        line.extend_from_slice(&chunk[..taken]);
        reader.consume(end.map_or(taken, |at| at + 1));
        if end.is_some() {
            return Read::Line(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_keeps_its_bytes() {
        let line = br#"{"result":{"n":123456789012345678901234567890, "x":1.0},"jsonrpc":"2.0","id":7}"#;
        assert_eq!(
            read(line),
            Line::Result { id: 7, result: r#"{"n":123456789012345678901234567890, "x":1.0}"#.into() }
        );
    }

    #[test]
    fn what_is_no_message_is_set_aside() {
        for line in [
            "Server running on stdio",
            r#"{"jsonrpc":"2.0","id":"a","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"id":1,"id":2,"result":{}}"#,
            "[]",
        ] {
            assert_eq!(read(line.as_bytes()), Line::Other, "{line}");
        }
        assert_eq!(read(b"{\"id\":1,\"result\":{\"a\":\"\xff\"}}"), Line::Other);
    }

    #[tokio::test]
    async fn a_line_beyond_the_limit_is_not_kept() {
        let mut short = &b"abc\ndef"[..];
        assert_eq!(next(&mut short, 3).await, Read::Line(b"abc".to_vec()));
        assert_eq!(next(&mut short, 3).await, Read::End);

        let mut long = &b"abcd\n"[..];
        assert_eq!(next(&mut long, 3).await, Read::TooLong);
    }
}
