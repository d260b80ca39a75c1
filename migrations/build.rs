//! The macro that embeds `sql/` does not tell cargo about files that are added.

fn main() {
    println!("cargo::rerun-if-changed=sql");
}
