//! The promises of the Rust SDK, in one program.

mod sdk {
    mod attacks;
    mod capability;
    mod execution;
    mod following;
    mod ledger;
    mod package;
    mod receipts;
    mod rmcp;
    mod servers;
    mod stores;
    mod vectors;
    mod verdict;
    mod world;
}
