//! What is called: the provider itself over its pipe, or the gateway over HTTP.
//!
//! Both clients do as little as they can; every answer is looked at, and one that is not the echo ends the run.

use anyhow::{Context, bail, ensure};
use counterfoil_tests::deployment::Deployment;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::process::Stdio;
use std::rc::Rc;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{Mutex, oneshot};

/// About the size of a sentence, which is about what an argument is.
const TEXT: &str = "The half of a receipt that the issuer keeps; the two halves must match.";

pub enum Target {
    Direct(Direct),
    Through(Through),
}

pub enum Caller {
    Direct(Rc<Pipe>),
    Through(Connection),
}

impl Target {
    pub async fn caller(&self) -> anyhow::Result<Caller> {
        match self {
            Self::Direct(direct) => Ok(Caller::Direct(Rc::clone(&direct.pipe))),
            Self::Through(through) => Ok(Caller::Through(through.connect().await?)),
        }
    }
}

impl Caller {
    pub async fn call(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Direct(pipe) => pipe.call().await,
            Self::Through(connection) => connection.call().await,
        }
    }
}

/// The provider as a child process, its pipe shared by all callers, as any host shares it.
pub struct Direct {
    pipe: Rc<Pipe>,
    _child: Child,
}

pub struct Pipe {
    input: Mutex<ChildStdin>,
    output: Mutex<BufReader<ChildStdout>>,
    next: Cell<u64>,
    waiting: RefCell<HashMap<u64, oneshot::Sender<String>>>,
}

impl Direct {
    pub async fn start(program: &str) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let input = child.stdin.take().context("standard input is a pipe")?;
        let output = child.stdout.take().context("standard output is a pipe")?;
        let pipe = Pipe {
            input: Mutex::new(input),
            output: Mutex::new(BufReader::new(output)),
            next: Cell::new(1),
            waiting: RefCell::default(),
        };
        Ok(Self { pipe: Rc::new(pipe), _child: child })
    }
}

impl Pipe {
    async fn call(&self) -> anyhow::Result<()> {
        let id = self.next.replace(self.next.get() + 1);
        let (sender, mut answer) = oneshot::channel();
        self.waiting.borrow_mut().insert(id, sender);
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{TEXT}"}}}}}}"#
        );
        self.input.lock().await.write_all(format!("{line}\n").as_bytes()).await?;
        // Whoever holds the output reads for all; the others wait for their own answer or for their turn to read.
        loop {
            tokio::select! {
                biased;
                line = &mut answer => return is_echo(&line?),
                mut output = self.output.lock() => self.read_one(&mut output).await?,
            }
        }
    }

    async fn read_one(&self, output: &mut BufReader<ChildStdout>) -> anyhow::Result<()> {
        let mut line = String::new();
        ensure!(output.read_line(&mut line).await? > 0, "the provider ended");
        let answer: serde_json::Value = serde_json::from_str(&line)?;
        let id = answer["id"].as_u64().context("an answer has the id of its request")?;
        let waiting = self.waiting.borrow_mut().remove(&id).context("nobody asked")?;
        // A caller that is gone wants no answer.
        let _ = waiting.send(line);
        Ok(())
    }
}

fn is_echo(answer: &str) -> anyhow::Result<()> {
    ensure!(answer.contains(TEXT) && answer.contains(r#""isError":false"#), "not the echo: {answer}");
    Ok(())
}

pub struct Through {
    address: String,
    request: Rc<Vec<u8>>,
}

/// One HTTP/1.1 connection that is kept open, one request at a time.
pub struct Connection {
    stream: BufReader<TcpStream>,
    request: Rc<Vec<u8>>,
    body: Vec<u8>,
}

impl Through {
    pub fn new(deployment: &Deployment) -> anyhow::Result<Self> {
        let url = deployment.mcp_url("echo");
        let (address, path) =
            url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).context("an address")?;
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{TEXT}"}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        );
        let request = format!(
            "POST /{path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n\
             mcp-name: echo\r\ncontent-length: {}\r\n\r\n{body}",
            deployment.api_key,
            body.len()
        );
        Ok(Self { address: address.to_owned(), request: Rc::new(request.into_bytes()) })
    }

    async fn connect(&self) -> anyhow::Result<Connection> {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream: BufReader::new(stream), request: Rc::clone(&self.request), body: Vec::new() })
    }
}

impl Connection {
    async fn call(&mut self) -> anyhow::Result<()> {
        self.stream.write_all(&self.request).await?;
        let mut length = None;
        let mut line = String::new();
        self.stream.read_line(&mut line).await?;
        let status = line.trim_end().to_owned();
        loop {
            line.clear();
            ensure!(self.stream.read_line(&mut line).await? > 0, "the gateway hung up");
            let header = line.trim_end().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = Some(value.trim().parse()?);
            }
        }
        self.body.resize(length.context("an answer has a length")?, 0);
        self.stream.read_exact(&mut self.body).await?;
        let body = std::str::from_utf8(&self.body)?;
        if !status.contains(" 200 ") || !body.contains(r#""verdict":"ALLOW""#) {
            bail!("{status}: {body}");
        }
        is_echo(body)
    }
}
