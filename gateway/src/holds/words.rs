//! What an agent reads while nobody has answered, and when somebody has. Never the person's reasons, never the call.

use super::Question;
use crate::answer::{Body, Fault};
use counterfoil_core::id::HoldId;
use serde_json::json;

/// A held call whose caller waits no longer.
pub fn held(question: &Question, why: &str) -> String {
    match question {
        Question::Opens(hold, _) => waits(*hold, why),
        Question::Joins(joined) => waits(joined.hold, why),
        Question::TooLarge => format!(
            "Held, not executed: {why}. The call is larger than what is kept for a person to decide (256 KiB, of which 60 \
             KiB can be shown), so nobody is asked. Make it smaller; repeating it changes nothing."
        ),
        Question::Elsewhere => elsewhere(),
        Question::NotAsked | Question::Over { .. } => {
            format!(
                "Held, not executed: {why}. Nobody is asked about such a call; repeating it changes nothing."
            )
        }
    }
}

fn waits(hold: HoldId, why: &str) -> String {
    format!(
        "Held, not executed: {why}. A person has to approve it ({hold}). Once it is approved, repeat the identical \
         call and it is executed, once. You cannot approve it yourself."
    )
}

/// Another request of the same agent had the approval first.
pub fn elsewhere() -> String {
    "Not executed by this request: somebody else dispatched it. The approval was for one execution, and another request \
     for the identical call has used it, or it has run out. Look at what that one brought before you repeat the call."
        .to_owned()
}

/// The approval is there, and what it was for is not what we parked.
pub fn unopened() -> String {
    "Not executed. The call was approved, but what was parked of it does not open here, so nothing was sent to the tool. \
     Repeat the call to have it decided anew."
        .to_owned()
}

/// The key of our own request for input; what comes back under it says that a page was opened, and decides nothing.
pub const APPROVAL: &str = "dev.counterfoil/approval";

const PAGE: &str = "A person has to approve this call. Its page is in the console of this project; opening it asks who \
                    you are and approves nothing.";

/// A result of 2026-07-28 that asks its caller to come again, and may show a page to its user.
pub fn input_required(state: &str, page: Option<&str>) -> String {
    let mut result = json!({"resultType": "input_required", "requestState": state});
    if let Some(url) = page {
        let params = json!({"mode": "url", "message": PAGE, "url": url});
        result["inputRequests"] = json!({ APPROVAL: {"method": "elicitation/create", "params": params} });
    }
    result.to_string()
}

/// The error of 2025-11-25 that shows a page.
pub fn page_required(hold: HoldId, url: &str) -> Body {
    let shown = json!({"mode": "url", "elicitationId": hold, "url": url, "message": PAGE});
    Body::Error {
        code: -32042,
        message: format!(
            "Held, not executed: a person has to approve it ({hold}). Repeat the identical call then."
        ),
        data: Some(json!({"elicitations": [shown]}).to_string()),
        fault: Fault::Call,
    }
}
