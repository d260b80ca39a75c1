//! The database of a deployment: a cluster of its own folder, or one that was named.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use counterfoil_evidence::cluster::{Binaries, Cluster, Running};
use counterfoil_evidence::config::Config;
use serde::{Deserialize, Serialize};
use tokio_postgres::config::Host;

use super::Folder;

/// The database's name where nothing else is said.
pub const NAME: &str = "counterfoil";

/// As in evidence.toml; the names of the roles are the evidence service's own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DatabaseAddress {
    pub host: String,
    pub port: u16,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
}

/// A database that answers. Dropping it stops a cluster of our own, and removes that of a temporary folder.
pub struct Database {
    pub address: DatabaseAddress,
    /// Somebody who may make roles and databases; None when that was done before.
    admin: Option<tokio_postgres::Config>,
    cluster: Option<OwnCluster>,
}

struct OwnCluster {
    /// None once it is stopped.
    running: Option<Running>,
    /// For root it lies outside the folder.
    data: PathBuf,
    /// Held so that the folder outlives its cluster.
    folder: Folder,
}

impl Drop for OwnCluster {
    fn drop(&mut self) {
        drop(self.running.take());
        if self.folder.is_temporary() {
            // What cannot be removed stays, which harms nobody; there is no one left to tell.
            let _ = std::fs::remove_dir_all(&self.data);
        }
    }
}

impl Database {
    /// Starts the cluster of this folder, making it on first use.
    pub fn managed(folder: &Folder) -> anyhow::Result<Self> {
        let packaged = folder.path().join("postgres");
        let binaries = Binaries::find(Some(&packaged))?;
        let cluster = Cluster::open(&binaries, folder.path())?;
        let running = cluster.start(&[])?;
        let host = running.socket_folder().to_str().context("the socket's folder is no text")?;
        let address = DatabaseAddress {
            host: host.to_owned(),
            port: running.port(),
            name: NAME.to_owned(),
            password_file: None,
        };
        let admin = Some(running.admin("postgres"));
        let data = cluster.data_folder().to_owned();
        let cluster = OwnCluster { running: Some(running), data, folder: folder.clone() };
        Ok(Self { address, admin, cluster: Some(cluster) })
    }

    /// A database that somebody else looks after. `url` is that of a role that may make roles and databases.
    pub fn given(url: &str, name: &str, password_file: Option<&Path>) -> anyhow::Result<Self> {
        let admin: tokio_postgres::Config = url.parse().context("the database address does not read")?;
        let host = match admin.get_hosts() {
            [Host::Tcp(name)] => name.clone(),
            [Host::Unix(folder)] => folder.to_str().context("the socket's folder is no text")?.to_owned(),
            _ => bail!("name exactly one database host"),
        };
        let port = admin.get_ports().first().copied().unwrap_or(5432);
        let password_file = password_file.map(std::path::absolute).transpose()?;
        let address = DatabaseAddress { host, port, name: name.to_owned(), password_file };
        Ok(Self { address, admin: Some(admin), cluster: None })
    }

    /// The database that evidence.toml names; somebody else looks after it.
    pub fn as_configured(folder: &Folder) -> anyhow::Result<Self> {
        let configured = Config::from_file(&folder.evidence_config())?.database;
        let address = DatabaseAddress {
            host: configured.host,
            port: configured.port,
            name: configured.name,
            password_file: configured.password_file,
        };
        Ok(Self { address, admin: None, cluster: None })
    }

    /// For people who look for it.
    pub fn place(&self) -> String {
        match &self.cluster {
            Some(cluster) => format!("`{}`", cluster.data.display()),
            None => format!("`{}`, named `{}`,", self.address.host, self.address.name),
        }
    }

    pub fn admin(&self) -> anyhow::Result<&tokio_postgres::Config> {
        self.admin.as_ref().context("nobody was named who may make a database")
    }
}
