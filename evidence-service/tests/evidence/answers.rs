//! What an answer must be, or the test ends here.

use counterfoil_core::receipt::{Receipt, Trust, verify};
use counterfoil_core::record::{ItemAnswer, Recorded, RefusedReason};

pub fn recorded(answer: &ItemAnswer) -> &Recorded {
    match answer {
        ItemAnswer::Recorded(recorded) => recorded,
        other => panic!("not recorded: {other:?}"),
    }
}

pub fn duplicate(answer: &ItemAnswer) -> &Recorded {
    match answer {
        ItemAnswer::Duplicate(recorded) => recorded,
        other => panic!("no duplicate: {other:?}"),
    }
}

pub fn reason(answer: &ItemAnswer) -> RefusedReason {
    match answer {
        ItemAnswer::Refused { reason, .. } => *reason,
        other => panic!("not refused: {other:?}"),
    }
}

pub fn check(receipt: &Receipt, trust: &Trust) {
    verify(&receipt.bytes(), trust).unwrap_or_else(|refusal| panic!("{}: {refusal}", refusal.code()));
}
