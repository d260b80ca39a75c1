//! Server-sent events, as far as MCP uses them: the data of each event is one message.
//!
//! Promised: bounded memory. Event ids, types and retry times are ignored, since no stream is ever resumed.

/// Largest event, as for the line of a child.
const LARGEST: usize = 16 * 1024 * 1024;

#[derive(Default)]
pub struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    after_return: bool,
}

#[derive(Debug, Eq, PartialEq, thiserror::Error)]
#[error("event too large")]
pub struct TooLarge;

impl Events {
    /// The messages that this chunk completes.
    pub fn hear(&mut self, chunk: &[u8]) -> Result<Vec<Vec<u8>>, TooLarge> {
        let mut messages = Vec::new();
        for byte in chunk {
            // A line ends with LF, CR, or both.
            let second_half = self.after_return && *byte == b'\n';
            self.after_return = *byte == b'\r';
            match byte {
                b'\n' if second_half => {}
                b'\n' | b'\r' => messages.extend(self.end_line()),
                _ => self.line.push(*byte),
            }
            if self.line.len() + self.data.len() > LARGEST {
                return Err(TooLarge);
            }
        }
        Ok(messages)
    }

    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return (!data.is_empty()).then_some(data);
        }
        if let Some(data) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_out_however_they_are_cut_up() {
        let stream = b": hello\r\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\nid: 7\ndata:{}\n\n: keep\n\ndata: lost";
        for size in [1, 2, 3, 7, 1000] {
            let mut events = Events::default();
            let mut heard = Vec::new();
            for chunk in stream.chunks(size) {
                heard.extend(events.hear(chunk).expect("small"));
            }
            assert_eq!(heard, [b"{\"a\":\n1}".to_vec(), b"{}".to_vec()], "{size}");
        }
    }

    // T8
    #[test]
    fn an_event_without_an_end_is_not_kept() {
        let mut events = Events::default();
        let chunk = vec![b'x'; LARGEST / 2];
        assert_eq!(events.hear(&chunk), Ok(vec![]));
        assert_eq!(events.hear(&chunk), Ok(vec![]));
        assert_eq!(events.hear(&chunk), Err(TooLarge));
    }
}
