//! What a permit's conditions may be made of.
//!
//! A condition is a conjunction. One conjunct is the deadline; the others only narrow, and are built from a closed
//! list of operators. Or, not, if-then-else and arithmetic are not on it: each of them can disguise a permit without
//! end as one with an end.

use super::RuleFault;
use cedar_policy::pst::{BinaryOp, Expr, Literal, PatternElem, UnaryOp, Var};
use counterfoil_core::json::MAX_INTEGER;

/// The top-level conjuncts of all `when` clauses of a permit.
#[derive(Default)]
pub(super) struct Conjuncts<'a> {
    /// The text of each `context.now < datetime("…")`.
    pub deadlines: Vec<&'a str>,
    pub others: Vec<&'a Expr>,
}

impl<'a> Conjuncts<'a> {
    pub(super) fn add(&mut self, expr: &'a Expr) {
        match expr {
            Expr::BinaryOp { op: BinaryOp::And, left, right } => {
                self.add(left);
                self.add(right);
            }
            _ => match deadline(expr) {
                Some(text) => self.deadlines.push(text),
                None => self.others.push(expr),
            },
        }
    }
}

/// The text of a deadline, if `expr` is exactly one.
fn deadline(expr: &Expr) -> Option<&str> {
    let Expr::BinaryOp { op: BinaryOp::Less, left, right } = expr else {
        return None;
    };
    let Expr::GetAttr { expr: of, attr } = left.as_ref() else {
        return None;
    };
    if !matches!(of.as_ref(), Expr::Var(Var::Context)) || attr != "now" {
        return None;
    }
    let Expr::UnaryOp { op: UnaryOp::Datetime, expr: literal } = right.as_ref() else {
        return None;
    };
    match literal.as_ref() {
        Expr::Literal(Literal::String(text)) => Some(text),
        _ => None,
    }
}

/// What in a narrowing conjunct is not on the list.
pub(super) fn inadmissible(expr: &Expr) -> Vec<RuleFault> {
    let mut faults = Vec::new();
    visit(expr, &mut |e| faults.extend(refusal(e)));
    faults
}

fn refusal(expr: &Expr) -> Option<RuleFault> {
    let operator = |name: String| Some(RuleFault::Operator(name));
    match expr {
        Expr::Literal(_) | Expr::Var(_) | Expr::GetAttr { .. } | Expr::HasAttr { .. } => None,
        Expr::Set(_) => None,
        Expr::UnaryOp { op: UnaryOp::Datetime | UnaryOp::Neg, .. } => None,
        Expr::UnaryOp { op, .. } => operator(format!("`{op}`")),
        Expr::BinaryOp {
            op:
                BinaryOp::And
                | BinaryOp::Eq
                | BinaryOp::NotEq
                | BinaryOp::Less
                | BinaryOp::LessEq
                | BinaryOp::Greater
                | BinaryOp::GreaterEq
                | BinaryOp::In
                | BinaryOp::Contains
                | BinaryOp::ContainsAll
                | BinaryOp::ContainsAny,
            ..
        } => None,
        Expr::BinaryOp { op, .. } => operator(format!("`{op}`")),
        Expr::Like { pattern, .. } => match pattern.first() {
            Some(PatternElem::Wildcard) => Some(RuleFault::LeadingWildcard),
            Some(PatternElem::Char(_)) | None => None,
        },
        Expr::IfThenElse { .. } => operator("`if`".to_owned()),
        _ => operator(format!("`{expr}`")),
    }
}

/// Whether it asks what the session did: `context.session`, or whether there is one.
pub(super) fn speaks_of_sessions(expr: &Expr) -> bool {
    let mut speaks = false;
    visit(expr, &mut |e| {
        if let Expr::GetAttr { expr: of, attr } = e
            && matches!(of.as_ref(), Expr::Var(Var::Context))
        {
            speaks |= attr == "session";
        }
    });
    speaks
}

/// Integers that other JSON readers would round, so that they have no canonical bytes.
pub(super) fn big_numbers(expr: &Expr) -> impl Iterator<Item = i64> {
    let mut found = Vec::new();
    visit(expr, &mut |e| {
        if let Expr::Literal(Literal::Long(n)) = e
            && n.unsigned_abs() > MAX_INTEGER.unsigned_abs()
        {
            found.push(*n);
        }
    });
    found.into_iter()
}

/// Calls `see` for `expr` and everything inside it.
fn visit(expr: &Expr, see: &mut impl FnMut(&Expr)) {
    see(expr);
    match expr {
        Expr::UnaryOp { expr, .. }
        | Expr::GetAttr { expr, .. }
        | Expr::HasAttr { expr, .. }
        | Expr::Like { expr, .. } => visit(expr, see),
        Expr::BinaryOp { left, right, .. } => {
            visit(left, see);
            visit(right, see);
        }
        Expr::Is { expr, in_expr, .. } => {
            visit(expr, see);
            if let Some(inner) = in_expr {
                visit(inner, see);
            }
        }
        Expr::IfThenElse { cond, then_expr, else_expr } => {
            visit(cond, see);
            visit(then_expr, see);
            visit(else_expr, see);
        }
        Expr::Set(elements) => elements.iter().for_each(|e| visit(e, see)),
        Expr::Record(members) => members.values().for_each(|e| visit(e, see)),
        _ => {}
    }
}
