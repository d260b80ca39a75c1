//! Promises of the whole system, held by real processes, a real Postgres and clients that are not ours.
//!
//! Each test has its own deployment. They kill what they started, so they run one at a time.

mod whole_system {
    mod bytes;
    mod capability;
    mod crashes;
    mod crowd;
    mod database;
    mod foreign_clients;
    mod foreign_logs;
    mod holds;
    mod kills;
    mod moods;
    mod neighbours;
    mod outages;
    mod packages;
    mod pages;
    mod pauses;
    mod retention;
    mod sessions;
    mod tampering;
    mod tenancy;
    mod transcripts;
    mod world;
}
