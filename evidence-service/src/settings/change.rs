//! `settings/v1`: one setting is another from here on.

use counterfoil_core::entry::Kind;
use counterfoil_core::envelope::Signed;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger as LedgerPurpose, SigningKey};
use counterfoil_core::statement::{PublicText, RetentionDays, SettingName, Settings, SettingsType};
use counterfoil_core::time::Timestamp;

use super::{Visibility, store};
use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::append::{AppendError, Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::Head;
use crate::ledger::seal::{Accepted, Sealed};

/// What is set, to what.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Setting {
    RetentionDays(RetentionDays),
    Visibility(Visibility),
}

impl Setting {
    fn name(self) -> SettingName {
        match self {
            Self::RetentionDays(_) => SettingName::retention_days(),
            Self::Visibility(_) => SettingName::visibility(),
        }
    }

    fn value(self) -> PublicText {
        let text = match self {
            Self::RetentionDays(days) => days.to_string(),
            Self::Visibility(visibility) => visibility.to_string(),
        };
        text.parse().expect("a setting is a short word or number")
    }
}

pub(crate) struct Change<'k> {
    pub(crate) issuer: Issuer,
    pub(crate) behalf: String,
    pub(crate) setting: Setting,
    pub(crate) signer: &'k SigningKey<LedgerPurpose>,
}

impl Job for Change<'_> {
    type Outcome = ();

    fn questions(&self) -> Questions {
        Questions::default()
    }

    fn plan(&self, head: &Head, _: &Facts, at: Timestamp) -> Result<Plan<()>, AppendError> {
        let statement = Settings {
            typ: SettingsType::V1,
            iss: self.issuer.clone(),
            project: head.project,
            at,
            control: head.control,
            floor: head.floor,
            generation: head.generation,
            behalf: self.behalf.clone(),
            authorization: None,
            name: self.setting.name(),
            value: self.setting.value(),
        };
        let accepted = vec![Accepted::own(Kind::Settings, &Signed::sign(statement, self.signer))];
        Ok(Plan::saying(head.clone(), accepted, ()))
    }

    async fn beside(&self, tx: &ProjectTx<'_>, _: &Sealed) -> Result<(), DatabaseError> {
        match self.setting {
            Setting::RetentionDays(days) => store::keep_for(tx, days).await,
            Setting::Visibility(visibility) => store::show_to(tx, visibility).await,
        }
    }
}
