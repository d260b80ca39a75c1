//! The database itself refuses to forget.

use super::world::World;

// Upholds E5.
#[test]
fn entries_refuse_update_delete_and_truncate_to_the_app_role_and_the_owner() {
    let world = World::start();
    let agent = world.deployment.agent("scripted");
    agent.call(&world.deployment.http, "echo", "{}").expect("an answer");

    for role in ["counterfoil_app", "counterfoil_migrator", "postgres"] {
        for statement in ["update entries set kind = 'kill'", "delete from entries", "truncate entries"] {
            let mut database =
                world.deployment.postgres.connect("counterfoil", "postgres").expect("a connection");
            let mut transaction = database.transaction().expect("a transaction");
            transaction.batch_execute(&format!("set local role {role}")).expect("the role exists");
            let refused = transaction.batch_execute(statement);
            assert!(refused.is_err(), "{role} may `{statement}`");
        }
    }
    world.chain();
}

// Upholds T1: without a tenant set, a query sees nobody's rows.
#[test]
fn the_app_role_sees_no_project_until_one_is_named() {
    let world = World::start();
    let mut database =
        world.deployment.postgres.connect("counterfoil", "counterfoil_app").expect("a connection");

    // Either no rows or a refusal; never somebody's rows.
    let seen = database.query_one("select count(*) from entries", &[]).map_or(0, |row| row.get::<_, i64>(0));

    assert_eq!(seen, 0);
    assert!(!world.chain().links.is_empty());
}
