//! The guard between a server and its two byte streams, one message a line (MCP over standard input and output).
//!
//!     let (input, output) = guarded(tokio::io::stdin(), tokio::io::stdout(), guard);
//!     service.serve((input, output)).await?;                                            // rmcp
//!
//! Promised: besides what [`super`] promises, a call that is cancelled leaves a statement that it was abandoned, and a call
//! with the id of a running one is not run. Messages keep their order.

use super::LARGEST_MESSAGE;
use super::message::{Answered, Judged, answered, is_tool_call, judge, read};
use crate::capability::{Admitted, Guard};
use serde_json::Value;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
    DuplexStream,
};
use tokio::sync::Mutex;

/// In bytes.
const BUFFER: usize = 64 * 1024;

/// Calls under way, by the text of their ids.
type Open = Arc<Mutex<HashMap<String, Admitted>>>;
type Out<W> = Arc<Mutex<W>>;

/// The streams that the server reads and writes instead. Runs two tasks on the current runtime until either side ends.
pub fn guarded<R, W>(input: R, output: W, guard: Guard) -> (DuplexStream, DuplexStream)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (to_server, server_reads) = tokio::io::duplex(BUFFER);
    let (server_writes, from_server) = tokio::io::duplex(BUFFER);
    let (open, out) = (Open::default(), Arc::new(Mutex::new(output)));
    let door = Door { guard, open: open.clone(), out: out.clone(), to_server };
    tokio::spawn(async move { report(door.receive(input).await) });
    tokio::spawn(async move { report(send(from_server, out, open).await) });
    (server_reads, server_writes)
}

fn report(ended: io::Result<()>) {
    // A pipe that breaks is how a session ends.
    if let Err(error) =
        ended.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
    {
        eprintln!("counterfoil: {error}");
    }
}

struct Door<W> {
    guard: Guard,
    open: Open,
    out: Out<W>,
    to_server: DuplexStream,
}

impl<W: AsyncWrite + Unpin> Door<W> {
    async fn receive<R: AsyncRead + Unpin>(mut self, input: R) -> io::Result<()> {
        let mut lines = BufReader::new(input);
        while let Some(line) = next_line(&mut lines).await? {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match read(&line) {
                Ok(message) => self.pass(&line, message).await?,
                Err(refusal) => write(&self.out, &refusal.to_string().into_bytes()).await?,
            }
        }
        self.to_server.shutdown().await
    }

    async fn pass(&mut self, line: &[u8], message: Value) -> io::Result<()> {
        if message["method"] == "notifications/cancelled" {
            self.abandon(&message["params"]["requestId"]).await;
        }
        let is_running =
            is_tool_call(&message) && self.open.lock().await.contains_key(&message["id"].to_string());
        if is_running {
            return Ok(());
        }
        match judge(message, &self.guard, None).await {
            Judged::Admitted { id, call } => {
                self.open.lock().await.insert(id.to_string(), call);
                self.forward(line).await
            }
            Judged::Other => self.forward(line).await,
            Judged::Refused(answer) => write(&self.out, answer.to_string().as_bytes()).await,
            Judged::Dropped => Ok(()),
        }
    }

    /// The server answers a cancelled call no more.
    async fn abandon(&self, id: &Value) {
        let call = self.open.lock().await.remove(&id.to_string());
        if let Some(call) = call {
            call.abandoned().await;
        }
    }

    async fn forward(&mut self, line: &[u8]) -> io::Result<()> {
        self.to_server.write_all(line).await?;
        self.to_server.write_all(b"\n").await?;
        self.to_server.flush().await
    }
}

/// What the server says, each answer with its statement.
async fn send<W: AsyncWrite + Unpin>(from_server: DuplexStream, out: Out<W>, open: Open) -> io::Result<()> {
    let mut lines = BufReader::new(from_server);
    loop {
        let mut line = Vec::new();
        if lines.read_until(b'\n', &mut line).await? == 0 {
            return out.lock().await.shutdown().await;
        }
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let call = call_of(line, &open).await;
        let answer = match call {
            Some((id, call)) => answered(line, &id, &call).await,
            None => Answered::NotOurs,
        };
        match answer {
            Answered::With(text) => write(&out, &text).await?,
            Answered::AsItCame | Answered::NotOurs => write(&out, line).await?,
        }
    }
}

/// The call that a line answers, and that is over with it.
async fn call_of(line: &[u8], open: &Open) -> Option<(Value, Admitted)> {
    let mut message: Value = serde_json::from_slice(line).ok()?;
    if message.get("method").is_some() {
        return None;
    }
    let id = message.get_mut("id")?.take();
    let call = open.lock().await.remove(&id.to_string())?;
    Some((id, call))
}

async fn next_line<R: AsyncRead + Unpin>(lines: &mut BufReader<R>) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let most = LARGEST_MESSAGE as u64 + 1;
    let count = lines.take(most).read_until(b'\n', &mut line).await?;
    if line.len() > LARGEST_MESSAGE && !line.ends_with(b"\n") {
        // What follows is the rest of it, and no message.
        return Err(io::Error::other(format!("a message of more than {LARGEST_MESSAGE} bytes")));
    }
    if line.ends_with(b"\n") {
        line.pop();
    }
    Ok((count > 0).then_some(line))
}

async fn write<W: AsyncWrite + Unpin>(out: &Out<W>, line: &[u8]) -> io::Result<()> {
    let mut out = out.lock().await;
    out.write_all(line).await?;
    out.write_all(b"\n").await?;
    out.flush().await
}
