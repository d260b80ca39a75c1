//! The capability that goes with a cleared decision, wherever it is presented.

use super::Recorded;
use crate::capability::Slip;
use crate::house::House;
use counterfoil_core::id::ProviderId;
use counterfoil_core::issuer::Issuer;
use serde_json::Value;

/// The slip that the decision names, bound to these arguments and input responses. None where it names none.
pub fn mint(
    recorded: &Recorded,
    house: &House,
    (arguments, input_responses): (&Value, Option<&Value>),
) -> Option<String> {
    let (call, decided) = (&recorded.judged.call, &recorded.judged.decided);
    let provider = call.provider()?;
    let entry = call.control.bundle.registry().provider(provider.as_str())?;
    let aud = match entry.resource() {
        Some(resource) => resource.to_owned(),
        None => default_audience(call.control.iss(), provider),
    };
    let caller = &call.received.caller;
    let principal = caller.principal.as_deref();
    let decision = decided.signed.payload();
    let slip = Slip {
        decision,
        digest: decided.signed.digest(),
        jti: decision.capability?,
        sub: house.keys.pairwise_name(decision.project, &aud, principal),
        aud: &aud,
        os: decided.provider_seed.dangerous_text().parse().ok()?,
        tool: call.tool()?.as_str(),
        arguments,
        input_responses,
    };
    let now = caller.project.clock.now().ok()?;
    Some(slip.mint(now, &house.keys.capability))
}

/// A provider without a registered resource id.
fn default_audience(iss: &Issuer, provider: &ProviderId) -> String {
    format!("urn:counterfoil:{}:{provider}", iss.name())
}
