//! Probes: gateways call a tool marked harmless with capabilities that must be refused, and tell what came back (P10).
//!
//! Promised: what a gateway tells is one entry, `probe/v1`, signed by the ledger key on the gateway's behalf; the page says
//! how many were refused, and which were not. Not promised: that a provider refuses everybody what it refused this gateway,
//! or that a gateway tells what it saw. It changes nothing that decides, and is no finding: findings are about actions.

pub(crate) mod routes;

use counterfoil_core::entry::Kind;
use counterfoil_core::envelope::Signed;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger, SigningKey};
use counterfoil_core::probe::ToldProbe;
use counterfoil_core::statement::{Probe, ProbeType};
use counterfoil_core::time::Timestamp;

use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::append::{AppendError, Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::Head;
use crate::ledger::seal::{Accepted, Sealed};

/// Who tells, in a word: a gateway of the project is known by its token, whose id is nobody's business.
const BEHALF: &str = "gateway";

struct Recording<'k> {
    issuer: Issuer,
    told: ToldProbe,
    signer: &'k SigningKey<Ledger>,
}

impl Job for Recording<'_> {
    type Outcome = ();

    fn questions(&self) -> Questions {
        Questions::default()
    }

    fn plan(&self, head: &Head, _: &Facts, at: Timestamp) -> Result<Plan<()>, AppendError> {
        let statement = Probe {
            typ: ProbeType::V1,
            iss: self.issuer.clone(),
            project: head.project,
            at,
            behalf: BEHALF.to_owned(),
            provider: self.told.provider.clone(),
            tool: self.told.tool.clone(),
            began_at: self.told.began_at,
            cases: self.told.cases.clone(),
        };
        let accepted = vec![Accepted::own(Kind::Probe, &Signed::sign(statement, self.signer))];
        Ok(Plan::saying(head.clone(), accepted, ()))
    }

    async fn beside(&self, _: &ProjectTx<'_>, _: &Sealed) -> Result<(), DatabaseError> {
        Ok(())
    }
}
