//! The capability that goes with a cleared decision, wherever it is presented.

use super::Recorded;
use crate::capability::Slip;
use crate::control::Control;
use crate::house::House;
use counterfoil_core::capability::default_audience;
use counterfoil_core::id::ProviderId;
use serde_json::Value;

/// The slip that the decision names, bound to these arguments and input responses. None where it names none.
pub fn mint(
    recorded: &Recorded,
    house: &House,
    (arguments, input_responses): (&Value, Option<&Value>),
) -> Option<String> {
    let (call, decided) = (&recorded.judged.call, &recorded.judged.decided);
    let provider = call.provider()?;
    let aud = audience(&call.control, provider)?;
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

/// For whom a provider's slips are: its registered resource id, or else one made of the project and its own id. None for
/// a provider that the registry does not name.
pub fn audience(control: &Control, provider: &ProviderId) -> Option<String> {
    let entry = control.bundle.registry().provider(provider.as_str())?;
    Some(entry.resource().map_or_else(|| default_audience(control.iss(), provider.as_str()), str::to_owned))
}
