//! SQL about the session itself.

use super::statement::statements;

statements! {
    BEGIN = "begin";
    BEGIN_SNAPSHOT = "begin isolation level repeatable read read only";
    // In capitals, as the client library would write it: a test stands in between and looks for it.
    COMMIT = "COMMIT";
    ROLLBACK = "rollback";
    // Local to the transaction, so that a pooled connection never carries a tenant over. Two seconds: a replica that
    // is stopped inside its transaction must not keep a kill waiting for more than three.
    ENTER = "select set_config('counterfoil.project', $1, true), set_config('lock_timeout', '2000', true), \
             set_config('idle_in_transaction_session_timeout', '2000', true)";
    // As before, for a transaction that numbers entries. Its first read, under the head's lock, keeps one plan; that read
    // itself ends this (facts.sql).
    ENTER_TO_APPEND = "select set_config('counterfoil.project', $1, true), set_config('lock_timeout', '2000', true), \
                       set_config('idle_in_transaction_session_timeout', '2000', true), \
                       set_config('plan_cache_mode', 'force_generic_plan', true)";
    // For long reads of one moment. They hold no lock that anybody waits for, and think between two pages.
    ENTER_TO_READ = "select set_config('counterfoil.project', $1, true), \
                     set_config('idle_in_transaction_session_timeout', '60000', true)";
    IDENTITY = "select system_identifier, timeline from database_identity()";
    MIGHT = "select current_user::text, r.rolsuper or r.rolbypassrls or exists ( \
                 select 1 from pg_class c \
                 where c.relnamespace = 'public'::regnamespace and pg_has_role(r.oid, c.relowner, 'member')) \
             from pg_roles r where r.rolname = current_user";
}
