//! The demo: one allowed, one denied and one held call through a running gateway, what can be checked afterwards, and
//! what a person does about calls: approves one, grants its kind for half an hour, stops everything.
//!
//! Promised: every step is checked, not told; a step that does not hold is shown as such and the demo fails.

mod checks;
mod client;
mod evidence;
mod governed;
mod page;
mod scene;

pub use scene::Scene;

/// What one step showed, or why it did not hold.
pub type Shown = anyhow::Result<String>;

/// Runs every step and prints it. True if all held.
pub async fn play(scene: &mut Scene) -> bool {
    let mut held = true;
    held &= print("listed", scene.list_tools().await);
    held &= print("allowed", scene.allowed_call().await);
    held &= print("denied", scene.denied_call().await);
    held &= print("held", scene.held_call().await);
    held &= print("executed", scene.only_the_allowed_call_reached_the_provider());
    held &= print("signed", scene.the_provider_signed_what_it_executed().await);
    held &= print("bypass", scene.the_provider_refuses_without_a_capability().await);
    held &= print("verified", scene.receipts_verify_offline().await);
    held &= print("tampered", scene.a_changed_receipt_is_refused());
    held &= print("finding", scene.a_forged_statement_becomes_a_finding().await);
    held &= print("package", scene.the_package_verifies_offline().await);
    held &= print("page", scene.the_page_adds_up().await);
    held &= print("approved", scene.a_held_call_goes_out_once_it_is_approved().await);
    held &= print("granted", scene.a_grant_lets_the_next_call_pass().await);
    held
}

/// The last step of all: afterwards nothing of this deployment is allowed any more.
pub async fn stop_everything(scene: &mut Scene) -> bool {
    print("killed", scene.a_kill_refuses_everything().await)
}

fn print(name: &str, shown: Shown) -> bool {
    match shown {
        Ok(text) => {
            println!("  ok    {name:<9} {text}");
            true
        }
        Err(error) => {
            println!("  FAIL  {name:<9} {error:#}");
            false
        }
    }
}
