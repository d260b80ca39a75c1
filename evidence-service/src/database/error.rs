//! What can go wrong between us and the database, sorted by what to do about it.

use deadpool_postgres::PoolError;
use tokio_postgres::error::SqlState;

#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// No connection, or it broke. Nothing is known to have happened.
    #[error("the database is away: {0}")]
    Away(String),
    /// A lock was not free in time, or the server asked for another try. Nothing happened.
    #[error("the database asks to try again: {0}")]
    TryAgain(String),
    /// Row-level security, a trigger or a constraint said no.
    #[error("the database refuses: {0}")]
    Refused(String),
    #[error(
        "role `{0}` is a superuser, steps around row-level security or owns the ledger; refusing to start"
    )]
    TooMighty(String),
    #[error("database settings: {0}")]
    Configuration(String),
    /// A row that our own code wrote does not read back.
    #[error("a stored value does not read: {0}")]
    Unreadable(String),
}

impl From<tokio_postgres::Error> for DatabaseError {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(db) = error.as_db_error() else {
            return match error.to_string() {
                text if text.contains("deserializing") || text.contains("serializing") => {
                    Self::Unreadable(text)
                }
                text => Self::Away(text),
            };
        };
        let text = format!("{} ({})", db.message(), db.code().code());
        match db.code() {
            &SqlState::T_R_SERIALIZATION_FAILURE
            | &SqlState::T_R_DEADLOCK_DETECTED
            | &SqlState::LOCK_NOT_AVAILABLE => Self::TryAgain(text),
            code if away(code) => Self::Away(text),
            _ => Self::Refused(text),
        }
    }
}

impl From<PoolError> for DatabaseError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => error.into(),
            other => Self::Away(other.to_string()),
        }
    }
}

/// Connection trouble, shutdown, no space, read-only standby.
fn away(code: &SqlState) -> bool {
    let class = code.code().get(..2).unwrap_or_default();
    matches!(class, "08" | "53" | "57" | "58")
        || *code == SqlState::READ_ONLY_SQL_TRANSACTION
        || *code == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
}
