//! Operators: people who answer held calls, change grants and stop things, known by a token `cfo_…`.
//!
//! Promised: a token names one project, one role and one pseudonym, is 256 random bits kept as a digest, and is good on the
//! console alone. Not promised: who the person is. Whoever holds the token is the operator; a token that is `local` can be
//! read by every program of one user, and what is done with it says so.

use std::fmt;
use std::str::FromStr;

use counterfoil_core::digest::Digest;
use counterfoil_core::id::ProjectId;
use counterfoil_core::statement::AnsweredBy;

use super::{equal, store};
use crate::database::{Database, DatabaseError};

/// What begins every token, and no other key of ours.
pub(crate) const PREFIX: &str = "cfo_";

/// Each may do what those before it may.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Role {
    /// Sees holds with their cards, and grants.
    Viewer,
    /// Answers, shortens, renews, removes, kills.
    Operator,
    /// Resumes, opens and closes windows.
    Admin,
}

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{0}` is none of viewer, operator, admin")]
pub struct RoleError(String);

impl Role {
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Operator, Self::Admin];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = RoleError;

    fn from_str(text: &str) -> Result<Self, RoleError> {
        Self::ALL.into_iter().find(|role| role.as_str() == text).ok_or_else(|| RoleError(text.to_owned()))
    }
}

/// The person behind a token, as far as anybody knows.
#[derive(Clone, Debug)]
pub(crate) struct Operator {
    pub(crate) project: ProjectId,
    /// A pseudonym, public.
    pub(crate) behalf: String,
    pub(crate) role: Role,
    pub(crate) by: AnsweredBy,
}

/// The operator of a token that is known and not revoked.
pub(crate) async fn operator(database: &Database, token: &str) -> Result<Option<Operator>, DatabaseError> {
    if !token.starts_with(PREFIX) {
        return Ok(None);
    }
    let asked = Digest::of(token.as_bytes());
    let client = database.app().await?;
    let found = store::operator(&client.directory(), asked).await?;
    Ok(found.filter(|(digest, _)| equal(digest, &asked)).map(|(_, operator)| operator))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_a_ladder() {
        assert!(Role::Viewer < Role::Operator && Role::Operator < Role::Admin);
        for role in Role::ALL {
            assert_eq!(role.to_string().parse(), Ok(role));
        }
        assert!("owner".parse::<Role>().is_err());
    }
}
