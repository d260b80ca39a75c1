//! The commit floor: how long one caller waits for one row of a decision's size to be committed, in the same Postgres.

use crate::load::{Latencies, micros};
use counterfoil_tests::deployment::Deployment;
use std::time::{Duration, Instant};

pub fn measure(deployment: &Deployment, length: Duration) -> anyhow::Result<Latencies> {
    let mut client = deployment.postgres.connect("postgres", "postgres")?;
    client
        .batch_execute("create table if not exists floor (id bigserial primary key, body bytea not null)")?;
    let insert = client.prepare("insert into floor (body) values ($1)")?;
    let body = [7u8; 1200];
    let began = Instant::now();
    let mut latencies = Vec::new();
    while began.elapsed() < length {
        let sent = Instant::now();
        client.execute(&insert, &[&body.as_slice()])?;
        latencies.push(micros(sent.elapsed()));
    }
    Ok(Latencies::of(latencies))
}
