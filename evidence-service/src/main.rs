//! `counterfoil-evidence`: the evidence service as a program.

fn main() {}
