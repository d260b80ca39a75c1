//! Used capabilities in a database that several machines share, through whatever client the provider has.

use super::{Store, StoreError};
use crate::fetch::Later;
use std::future::Future;

/// The table of [`PostgresStore`]. Rows whose `forget_at` has passed can be deleted at leisure.
pub const POSTGRES_TABLE: &str = "create table if not exists counterfoil_used (
  audience text not null, jti text not null, forget_at bigint not null, primary key (audience, jti))";

const INSERT: &str =
    "insert into counterfoil_used (audience, jti, forget_at) values ($1, $2, $3) on conflict do nothing";

/// `$1` to `$3` of the statement.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PostgresValues {
    pub audience: String,
    pub jti: String,
    /// Seconds since 1970.
    pub forget_at: i64,
}

type Execute<'p> =
    Box<dyn Fn(&'static str, PostgresValues) -> Later<'p, Result<u64, StoreError>> + Send + Sync + 'p>;
type Command<'r> =
    Box<dyn Fn(Vec<String>) -> Later<'r, Result<Option<String>, StoreError>> + Send + Sync + 'r>;

/// Best on the effect's own transaction, so that both stand or fall together: [`super::super::Guard::admit_in`].
pub struct PostgresStore<'p>(Execute<'p>);

impl<'p> PostgresStore<'p> {
    /// `execute` runs one statement and gives the number of rows that it wrote.
    pub fn new<R>(execute: impl Fn(&'static str, PostgresValues) -> R + Send + Sync + 'p) -> Self
    where
        R: Future<Output = Result<u64, StoreError>> + Send + 'p,
    {
        Self(Box::new(move |text, values| Box::pin(execute(text, values))))
    }
}

impl Store for PostgresStore<'_> {
    fn consume<'s>(
        &'s self,
        audience: &'s str,
        jti: &'s str,
        forget_at: i64,
    ) -> Later<'s, Result<bool, StoreError>> {
        let values = PostgresValues { audience: audience.to_owned(), jti: jti.to_owned(), forget_at };
        Box::pin(async move { Ok((self.0)(INSERT, values).await? == 1) })
    }
}

/// A failover that loses the newest writes can let a slip pass twice: money and what cannot be undone need the SQL store.
pub struct RedisStore<'r>(Command<'r>);

impl<'r> RedisStore<'r> {
    /// `command` sends one command and gives the text of its answer, None for nil.
    pub fn new<R>(command: impl Fn(Vec<String>) -> R + Send + Sync + 'r) -> Self
    where
        R: Future<Output = Result<Option<String>, StoreError>> + Send + 'r,
    {
        Self(Box::new(move |words| Box::pin(command(words))))
    }
}

impl Store for RedisStore<'_> {
    fn consume<'s>(
        &'s self,
        audience: &'s str,
        jti: &'s str,
        forget_at: i64,
    ) -> Later<'s, Result<bool, StoreError>> {
        let key = format!("counterfoil:used:{audience}:{jti}");
        let end = forget_at.saturating_mul(1000).to_string();
        let words = ["SET", &key, "1", "NX", "PXAT", &end].map(str::to_owned).to_vec();
        Box::pin(async move { Ok((self.0)(words).await?.as_deref() == Some("OK")) })
    }
}
