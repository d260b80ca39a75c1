//! What each pair did, as one table.

use super::servers::{COLUMNS, Servers};
use counterfoil_tests::foreign::{Language, Rust};
use serde_json::{Value, json};
use std::fmt::Write as _;

// Upholds P1, P7.
#[test]
fn every_client_uses_every_server_and_every_receipt_verifies() {
    let servers = Servers::start();
    let plan = json!({ "key": servers.deployment.api_key, "cells": servers.cells() });
    let mut table = Table::new(&servers);

    let rust = Rust::build().expect("its own crates build");
    let programs = [(Language::Node, "matrix"), (Language::Node, "inspector"), (Language::Python, "matrix")];
    let said = programs.map(|(language, program)| language.run(program, &plan));
    for said in said.into_iter().chain([rust.run(&plan)]) {
        let said = said.expect("the clients run");
        for (client, cells) in said.as_object().expect("clients") {
            table.row(client, cells);
        }
    }

    println!("\n{}", table.text);
    assert!(table.faults.is_empty(), "{}", table.faults.join("\n"));
    // The inspector needs a Node that is not on every machine; the others are on all.
    assert!(table.rows >= 10);
    if table.rows == 10 {
        println!("not run: the inspector's command line, which needs Node 22.19 or newer");
    }
}

struct Table<'a> {
    servers: &'a Servers,
    calls: Vec<Value>,
    text: String,
    faults: Vec<String>,
    rows: usize,
}

impl<'a> Table<'a> {
    fn new(servers: &'a Servers) -> Self {
        let mut text = format!("{:<30}{:<12}", "tools listed", "revision");
        for column in COLUMNS {
            write!(text, "{column:<12}").expect("a string takes text");
        }
        Self { servers, calls: servers.cells(), text: text + "\n", faults: Vec::new(), rows: 0 }
    }

    fn row(&mut self, client: &str, cells: &Value) {
        let revision = cells["files"]["revision"].as_str().unwrap_or("none");
        write!(self.text, "{client:<30}{revision:<12}").expect("a string takes text");
        for call in &self.calls {
            let column = call["provider"].as_str().expect("a column");
            let shown = match self.held(call, &cells[column]) {
                Ok(tools) => format!("{tools}"),
                Err(fault) => {
                    self.faults.push(format!("{client} at {column}: {fault}"));
                    "FAILED".to_owned()
                }
            };
            write!(self.text, "{shown:<12}").expect("a string takes text");
        }
        self.text.push('\n');
        self.rows += 1;
    }

    /// How many tools were listed, if all of it holds.
    fn held(&self, call: &Value, cell: &Value) -> anyhow::Result<usize> {
        anyhow::ensure!(cell["error"].is_null(), "{}", cell["error"]);
        let tools = cell["tools"].as_array().map_or(&[][..], Vec::as_slice);
        anyhow::ensure!(tools.contains(&call["tool"]), "{} is not listed", call["tool"]);
        let result = &cell["result"];
        anyhow::ensure!(result["isError"] != true, "{result}");
        self.receipt(call, &result["_meta"]["dev.counterfoil/receipt"])?;
        Ok(tools.len())
    }

    /// The receipt that the answer refers to is of this call, and a program that is not ours verifies it.
    fn receipt(&self, call: &Value, reference: &Value) -> anyhow::Result<()> {
        let seq = reference["seq"].as_u64().ok_or_else(|| anyhow::anyhow!("no receipt: {reference}"))?;
        let deployment = &self.servers.deployment;
        let (bytes, jwks) = (deployment.receipt(seq)?, deployment.jwks()?);
        let receipt: Value = serde_json::from_slice(&bytes)?;
        let payload = &receipt["statement"]["payload"];
        let tool = call["tool"].as_str().unwrap_or_default();
        let tool = tool.split_once("__").map_or(tool, |(_, own)| own);
        anyhow::ensure!(payload["verdict"] == "ALLOW" && payload["tool"] == tool, "{payload}");
        anyhow::ensure!(payload["action"] == reference["action"], "another call's receipt");
        let folder = tempfile::tempdir()?;
        let (file, keys) = (folder.path().join("receipt.json"), folder.path().join("jwks.json"));
        std::fs::write(&file, bytes)?;
        std::fs::write(&keys, jwks)?;
        let (code, said) = Language::Node.verify(&file, &keys)?;
        anyhow::ensure!(code == Some(0), "{said}");
        Ok(())
    }
}
