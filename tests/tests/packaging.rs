//! What is shipped, tried as its users would: containers without an engine, packages from the packed file.

use counterfoil_tests::foreign::folder;
use counterfoil_tests::repository::program;
use std::process::Command;

/// Runs a script of tests/foreign/python with the folder of the built programs.
fn holds(script: &str) {
    let programs = program("counterfoil").expect("the program is built");
    program("counterfoil-gateway").and(program("counterfoil-evidence")).expect("the services are built");
    let mut python = Command::new(folder().join("python/.venv/bin/python"));
    python.arg(folder().join("python").join(script)).arg(programs.parent().expect("a folder"));

    let output = python.output().expect("`scripts/test` installs Python's packages");

    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

// Upholds C3, T9: no secret in the file, the environment or a log; each service reads its own alone.
#[test]
fn the_commands_users_and_environment_of_the_compose_file_run() {
    holds("compose_runs.py");
}

#[test]
fn both_packages_work_from_the_packed_file() {
    holds("packages.py");
}
