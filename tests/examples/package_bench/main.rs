//! How fast a package is verified, and in how much memory: synthetic packages of 10,000, 100,000 and 1,000,000 entries.
//!
//!     cargo run --release -p counterfoil-tests --example package_bench [-- <entries> …]
//!
//! Each package is verified by a process of its own, whose processor time and peak memory the kernel counts. Two kinds:
//! every call signed by its provider (three entries and four signatures a call), and providers that sign nothing (two and two).

mod synthetic;

use anyhow::{Context, ensure};
use counterfoil_core::package::zip::{Archive, Bytes};
use counterfoil_core::package::{self, Promise};
use counterfoil_core::receipt;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;
use synthetic::{Providers, pins};

/// USER_HZ on Linux, whatever the machine (proc(5)).
const TICK_MILLIS: u64 = 10;
const SIZES: [u64; 3] = [10_000, 100_000, 1_000_000];

struct OnDisk(File);

impl Bytes for OnDisk {
    fn length(&self) -> std::io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        self.0.read_at(buffer, offset)
    }
}

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, path] = arguments.as_slice()
        && word == "verify"
    {
        return verify(Path::new(path));
    }
    let sizes: Vec<u64> = arguments.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
    let sizes = if sizes.is_empty() { SIZES.to_vec() } else { sizes };
    println!(
        "| providers | entries | zip, MB | CPU, s | entries per CPU second | peak memory, MB |\n|---|---|---|---|---|---|"
    );
    for providers in [Providers::Sign, Providers::SignNothing] {
        for size in &sizes {
            measure(providers, *size)?;
        }
    }
    Ok(())
}

fn measure(providers: Providers, size: u64) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("package.zip");
    let bytes = synthetic::write(&path, providers, size)?;
    let output = Command::new(std::env::current_exe()?).arg("verify").arg(&path).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let number = |name: &str| said[name].as_u64().with_context(|| format!("no {name}: {said}"));
    let (cpu, peak) = (number("cpu_ms")?, number("peak_kb")?);
    println!(
        "| {} | {size} | {:.1} | {:.2} | {} | {:.1} |",
        providers.words(),
        bytes as f64 / 1e6,
        cpu as f64 / 1000.0,
        size * 1000 / cpu.max(1),
        peak as f64 / 1024.0
    );
    Ok(())
}

/// What the child does: verifies, and says what that took.
fn verify(path: &Path) -> anyhow::Result<()> {
    let keys = receipt::Trust::from_set(pins())?;
    let archive = Archive::open(OnDisk(File::open(path)?))?;
    let before = cpu_millis()?;
    let registry = |_: &_, _: &_| None::<Promise>;
    let trust = package::Trust { keys: &keys, since: None, held: &[], registry: &registry };
    let report = package::verify(&archive, &trust)?;
    ensure!(report.verdict.exit_code() == 10, "{}", report.verdict);
    ensure!(report.verified == report.size, "{} of {}", report.verified, report.size);
    let said = serde_json::json!({ "cpu_ms": cpu_millis()? - before, "peak_kb": peak_kilobytes()? });
    println!("{said}");
    Ok(())
}

fn cpu_millis() -> anyhow::Result<u64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // Behind the name, which may hold anything: user and system time are the 12th and 13th field.
    let (_, fields) = stat.rsplit_once(')').context("a process has a name")?;
    let fields: Vec<&str> = fields.split_whitespace().skip(11).take(2).collect();
    let ticks: u64 = fields.iter().map(|field| field.parse::<u64>()).sum::<Result<_, _>>()?;
    Ok(ticks * TICK_MILLIS)
}

fn peak_kilobytes() -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("a peak")?;
    Ok(line.split_whitespace().next().context("a number")?.parse()?)
}
