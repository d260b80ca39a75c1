//! A bridge from standard input and output to the gateway, one JSON-RPC message a line.
//!
//! Promised: a line goes out byte for byte and the answer comes back byte for byte, except that
//! line breaks between tokens become spaces and that receipts, where they are kept, are asked for
//! and taken out again; requests run side by side; nothing but JSON-RPC is written. A tool call that certainly never left says `Not executed`; one whose answer was lost
//! says that it is unknown.
//!
//! Not promised: that a call is sent again. Nothing is retried here.

mod message;
mod receipts;
mod upstream;

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{self, AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinSet;

pub use receipts::Receipts;
pub use upstream::{BridgeError, Credential};

use message::Message;
use upstream::Upstream;

/// As long as a message may be at the gateway, and room for a refusal to be its own.
const LONGEST_LINE: u64 = (4 << 20) + 4096;

/// More at once than any host sends, and few enough to hold in memory.
const AT_ONCE: usize = 64;

/// How long answers may still come after the host closed its end.
const LAST_ANSWERS: Duration = Duration::from_secs(10);

pub struct Bridge {
    way: Arc<Way>,
}

/// Where messages go, and what is kept of their answers.
struct Way {
    upstream: Upstream,
    receipts: Option<Receipts>,
}

impl Bridge {
    /// `receipts` says where those of tool calls are kept, if they are.
    pub fn new(
        address: &str,
        credential: &Credential,
        receipts: Option<Receipts>,
    ) -> Result<Self, BridgeError> {
        Ok(Self { way: Arc::new(Way { upstream: Upstream::new(address, credential)?, receipts }) })
    }

    /// Runs until the input ends.
    pub async fn run(
        &self,
        mut input: impl AsyncBufRead + Unpin,
        output: impl AsyncWrite + Unpin + Send + 'static,
    ) -> io::Result<()> {
        let output = Arc::new(Mutex::new(output));
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let mut running = JoinSet::new();
        while let Some(line) = next_line(&mut input).await? {
            let mut message = Message::read(line);
            if self.way.receipts.is_some() {
                message.ask_for_receipt();
            }
            if message.must_keep_its_place() {
                forward(&self.way, &message, &output).await?;
                continue;
            }
            let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
            let (way, output) = (self.way.clone(), output.clone());
            running.spawn(async move {
                let written = forward(&way, &message, &output).await;
                drop(place);
                written
            });
            while let Some(finished) = running.try_join_next() {
                finished.map_err(io::Error::other)??;
            }
        }
        // A host that is gone gets no more than a moment; what is dropped then is cancelled.
        let drained = async { while running.join_next().await.is_some() {} };
        drop(tokio::time::timeout(LAST_ANSWERS, drained).await);
        self.way.upstream.end_session().await;
        Ok(())
    }
}

async fn forward<W: AsyncWrite + Unpin>(way: &Way, message: &Message, output: &Mutex<W>) -> io::Result<()> {
    let Some(mut answer) = way.upstream.send(message).await else {
        return Ok(());
    };
    if let (Some(receipts), true) = (&way.receipts, message.method == "tools/call") {
        let (receipts, asked) = (receipts.clone(), message.asked);
        answer = tokio::task::spawn_blocking(move || receipts.keep(answer, asked)).await?;
    }
    for byte in &mut answer {
        // Inside a JSON string a line break is escaped, so this one stands between tokens.
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    answer.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&answer).await?;
    output.flush().await
}

/// None at the end of the input. Empty lines are nothing. The end of a line that is too long is
/// read away, so that what is left of it is not taken for a message.
async fn next_line(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    loop {
        let mut line = Vec::new();
        let read = (&mut *input).take(LONGEST_LINE).read_until(b'\n', &mut line).await?;
        if read == 0 {
            return Ok(None);
        }
        let mut last = line.last().copied();
        while last != Some(b'\n') {
            let mut rest = Vec::new();
            if (&mut *input).take(LONGEST_LINE).read_until(b'\n', &mut rest).await? == 0 {
                break;
            }
            last = rest.last().copied();
        }
        let end = line.trim_ascii_end().len();
        line.truncate(end);
        if !line.trim_ascii().is_empty() {
            return Ok(Some(line));
        }
    }
}

#[cfg(test)]
mod tests;
