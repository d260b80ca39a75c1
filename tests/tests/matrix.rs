//! Every client that is not ours at every server that is not ours, through the gateway: a list, an allowed call, and
//! its receipt, fetched and verified. A suite of its own in `scripts/test`, which prints the table.

mod matrix {
    mod held;
    mod servers;
    mod table;
}
