//! Stage 3: what does it cost?
//!
//! No registry entry can say yet that a tool takes money, so every call passes as it is; the type keeps the place
//! through which a paid call will come with its bound quote, and through which none can slip without.

use super::Judged;

pub struct Priced(pub Judged);

pub fn price(judged: Judged) -> Priced {
    Priced(judged)
}
