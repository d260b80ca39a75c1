//! Roles, database and schema.

use tokio_postgres::NoTls;

use super::{SetupError, directory};
use crate::config::{Config, DatabaseConfig};
use crate::database::{self, DatabaseError};

/// The name `counterfoil dev` gives its database.
pub const DEFAULT_DATABASE: &str = "counterfoil";

/// Makes the roles and the database if they are not there. `admin` connects as a superuser to any database.
///
/// The roles can log in and have no password; whoever runs a database over TCP sets one.
pub async fn prepare_database(admin: &tokio_postgres::Config, name: &str) -> Result<(), SetupError> {
    let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if !plain || name.is_empty() || name.len() > 63 {
        return Err(SetupError::NotADatabaseName(name.to_owned()));
    }
    let (client, connection) = admin.connect(NoTls).await.map_err(DatabaseError::from)?;
    let driver = tokio::spawn(connection);
    let made = directory::make_roles_and_database(&client, name).await;
    drop(client);
    let _ = driver.await;
    Ok(made?)
}

/// Brings the schema up to date, as its owner. Safe to run from several places at once.
pub async fn migrate(config: &Config) -> Result<(), SetupError> {
    migrate_database(&config.database).await
}

async fn migrate_database(config: &DatabaseConfig) -> Result<(), SetupError> {
    let connection = database::connection(config, &config.migrator_user)?;
    let (mut client, connection) = connection.connect(NoTls).await.map_err(DatabaseError::from)?;
    let driver = tokio::spawn(connection);
    // refinery takes no lock of its own. This one ends with the session.
    directory::lock_migrations(&client).await?;
    let ran = counterfoil_migrations::runner().run_async(&mut client).await;
    drop(client);
    let _ = driver.await;
    ran.map(drop).map_err(|error| SetupError::Migration(error.to_string()))
}
