//! Refuses to run as a role that could rewrite what it appends (E5).

use tokio_postgres::Client;

use super::{DatabaseError, store};

pub(super) async fn refuse_mighty(client: &Client) -> Result<(), DatabaseError> {
    let row = client.query_one(store::MIGHT.text(), &[]).await?;
    let (role, mighty): (String, bool) = (row.try_get(0)?, row.try_get(1)?);
    if mighty { Err(DatabaseError::TooMighty(role)) } else { Ok(()) }
}
