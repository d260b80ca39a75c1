//! P4: the comparison against a real Postgres, with entries at times that the tests choose.

mod audited;
mod dishonest;
mod honest;
mod packed;
mod races;
mod record;
mod vectors;
mod world;
