//! What a phase cost: processor time and memory of each program from /proc, entries and commits from the ledger.

use anyhow::Context;
use counterfoil_tests::deployment::Deployment;
use std::fs;

/// What /proc counts in: USER_HZ, 100 on every Linux that this runs on.
const TICKS_PER_SECOND: f64 = 100.0;

#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    gateway: f64,
    evidence: f64,
    postgres: f64,
    entries: i64,
    commits: i64,
    gateway_peak: u64,
}

/// Between two snapshots.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Processor seconds.
    pub gateway: f64,
    pub evidence: f64,
    pub postgres: f64,
    pub entries: i64,
    pub commits: i64,
    /// Largest resident set so far, in MiB.
    pub gateway_peak: f64,
}

impl Snapshot {
    pub fn take(deployment: &Deployment) -> anyhow::Result<Self> {
        let gateway = deployment.gateway.as_ref().context("a gateway runs")?.id();
        let evidence = deployment.evidence.as_ref().context("an evidence service runs")?.id();
        let postmaster = deployment.postgres.id().context("Postgres runs")?;
        let mut database = deployment.database()?;
        let counted = database.query_one(
            "select (select max(seq) + 1 from entries), (select count(*) from checkpoints)",
            &[],
        )?;
        Ok(Self {
            gateway: processor_seconds(gateway)?,
            evidence: processor_seconds(evidence)?,
            postgres: family_seconds(postmaster)?,
            entries: counted.try_get(0)?,
            commits: counted.try_get(1)?,
            gateway_peak: peak_kib(gateway)?,
        })
    }

    pub fn since(&self, before: &Self) -> Cost {
        Cost {
            gateway: self.gateway - before.gateway,
            evidence: self.evidence - before.evidence,
            postgres: self.postgres - before.postgres,
            entries: self.entries - before.entries,
            commits: self.commits - before.commits,
            gateway_peak: self.gateway_peak as f64 / 1024.0,
        }
    }
}

/// Fields of /proc/<pid>/stat after the name, which may hold spaces: the first is field 3.
fn stat(pid: u32) -> anyhow::Result<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, rest) = text.rsplit_once(')').context("a name in brackets")?;
    Ok(rest.split_whitespace().map(str::to_owned).collect())
}

/// Fields 14 and 15, user and system; with those of ended children (16, 17) for a postmaster.
fn ticks(fields: &[String], range: std::ops::RangeInclusive<usize>) -> anyhow::Result<f64> {
    let mut sum = 0.0;
    for field in range {
        sum += fields.get(field - 3).context("a field")?.parse::<f64>()?;
    }
    Ok(sum / TICKS_PER_SECOND)
}

fn processor_seconds(pid: u32) -> anyhow::Result<f64> {
    ticks(&stat(pid)?, 14..=15)
}

/// A postmaster, its children, and what ended children used.
fn family_seconds(parent: u32) -> anyhow::Result<f64> {
    let mut sum = ticks(&stat(parent)?, 14..=17)?;
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process may end while it is looked at.
        let Ok(fields) = stat(pid) else { continue };
        if fields.get(1) == Some(&parent.to_string()) {
            sum += ticks(&fields, 14..=15)?;
        }
    }
    Ok(sum)
}

fn peak_kib(pid: u32) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("a peak")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
