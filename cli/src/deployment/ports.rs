//! The listeners of a deployment on one machine.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

/// 0 means any port that is free.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct PortArguments {
    /// Where agents reach the gateway (0: any free port)
    #[arg(long, default_value_t = 8787)]
    gateway_port: u16,

    /// Where readers reach the evidence service (0: any free port)
    #[arg(long, default_value_t = 8788)]
    evidence_port: u16,

    /// Where the gateway reaches the evidence service (0: any free port)
    #[arg(long, default_value_t = 8789)]
    internal_port: u16,
}

/// Ports that are known before anything listens, because the two services and the provider name each other.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    pub gateway: SocketAddr,
    pub evidence: SocketAddr,
    pub internal: SocketAddr,
    /// Where people answer held calls; none where nobody asked for it.
    pub console: Option<SocketAddr>,
}

/// The usual port of the console.
const CONSOLE: u16 = 8790;

#[derive(Debug, thiserror::Error)]
#[error("port {port} of 127.0.0.1 is not to be had; --gateway-port and the like name others")]
pub struct PortTaken {
    port: u16,
    source: std::io::Error,
}

impl PortArguments {
    pub fn any() -> Self {
        Self { gateway_port: 0, evidence_port: 0, internal_port: 0 }
    }

    pub fn settle(self) -> Result<Ports, PortTaken> {
        // All three are held until each has its own.
        let gateway = held(self.gateway_port)?;
        let evidence = held(self.evidence_port)?;
        let internal = held(self.internal_port)?;
        Ok(Ports { gateway: gateway.1, evidence: evidence.1, internal: internal.1, console: None })
    }
}

fn held(port: u16) -> Result<(TcpListener, SocketAddr), PortTaken> {
    let taken = |source| PortTaken { port, source };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(taken)?;
    let address = listener.local_addr().map_err(taken)?;
    Ok((listener, address))
}

impl Ports {
    /// With a console on this machine: at the port that was named (0: any free one), else at the usual one or, where another
    /// deployment has that, at any.
    pub fn with_console(self, named: Option<u16>) -> Result<Self, PortTaken> {
        let (_, address) = match named {
            Some(port) => held(port)?,
            None => held(CONSOLE).or_else(|_| held(0))?,
        };
        Ok(Self { console: Some(address), ..self })
    }

    /// Agents and readers come from elsewhere; the internal listener and the console stay on this machine.
    pub fn reached_at(self, address: IpAddr) -> Self {
        let at = |listener: SocketAddr| SocketAddr::new(address, listener.port());
        Self { gateway: at(self.gateway), evidence: at(self.evidence), ..self }
    }

    pub fn gateway_url(&self) -> String {
        format!("http://{}", from_here(self.gateway))
    }

    pub fn evidence_url(&self) -> String {
        format!("http://{}", from_here(self.evidence))
    }

    /// Where a person on this machine finds the console.
    pub fn console_url(&self) -> Option<String> {
        self.console.map(|console| format!("http://{}", from_here(console)))
    }

    pub fn internal_url(&self) -> String {
        format!("http://{}", self.internal)
    }
}

/// Every address of this machine is no address to connect to.
fn from_here(listener: SocketAddr) -> SocketAddr {
    match listener.ip().is_unspecified() {
        true => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), listener.port()),
        false => listener,
    }
}
