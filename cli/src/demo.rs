//! The demo: one allowed, one denied and one held call through a running gateway, and what can be checked afterwards.
//!
//! Promised: every step is checked, not told; a step that does not hold is shown as such and the demo fails.

mod checks;
mod client;
mod evidence;
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
    held
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
