//! What this process cost so far, as the kernel counts it: the figure for docs/benchmarks.md.

use std::fs;

use serde_json::{Value, json};

/// Clock ticks are a hundredth of a second on Linux, whatever the machine (USER_HZ, proc(5)).
const TICK_MILLIS: u64 = 10;

/// `{"cpu_ms":…,"peak_kb":…}`; null what this system does not count.
pub(super) fn so_far() -> Value {
    json!({ "cpu_ms": cpu_millis(), "peak_kb": peak_kilobytes() })
}

fn cpu_millis() -> Option<u64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name, which may hold anything: user and system time are the 12th and 13th field.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?) * TICK_MILLIS)
}

fn peak_kilobytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
