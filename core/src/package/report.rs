//! What verification found, for people and programs.

use crate::id::{ActionId, ProviderId};
use crate::key::Thumbprint;
use crate::reconcile::{Account, Found, Status};
use crate::statement::FindingCode;
use crate::tree::Hash;
use std::collections::BTreeMap;
use std::fmt;

/// The answer. COMPLETE_SINCE (0) needs witnesses, which packages of this version do not carry.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// All of it holds; that the record ends here, only the log operator says.
    Unanchored,
    /// Something is not here that the checkpoints or the holder's own receipts speak of.
    Incomplete(String),
    /// The record gives a finding, and the package has none.
    Omitted(Box<Found>),
    /// Two signed notes that contradict each other: portable proof.
    Forked { one: String, other: String },
    /// The first thing that fails.
    Broken(String),
    /// It may be right, but no key that the holder pinned says so.
    Unpinned(String),
}

impl Verdict {
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Unanchored => 10,
            Self::Incomplete(_) => 20,
            Self::Omitted(_) => 21,
            Self::Forked { .. } => 30,
            Self::Broken(_) => 40,
            Self::Unpinned(_) => 50,
        }
    }

    pub fn word(&self) -> &'static str {
        match self {
            Self::Unanchored => "UNANCHORED",
            Self::Incomplete(_) => "INCOMPLETE",
            Self::Omitted(_) => "OMITTED",
            Self::Forked { .. } => "FORKED",
            Self::Broken(_) => "BROKEN",
            Self::Unpinned(_) => "UNPINNED",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word();
        match self {
            Self::Unanchored => {
                write!(f, "{word}: all of it holds; only the log operator vouches for its end")
            }
            Self::Incomplete(why) | Self::Broken(why) | Self::Unpinned(why) => write!(f, "{word}: {why}"),
            Self::Omitted(found) => {
                write!(
                    f,
                    "{word}: {} about entry {} follows from the record, and stands nowhere",
                    found.code, found.seq
                )
            }
            Self::Forked { one, other } => write!(f, "{word}: two notes of one log\n\n{one}\n{other}"),
        }
    }
}

/// Who vouches for a provider's key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pin {
    ByTheHolder,
    /// The log operator alone: it could have imported a key of its own under the provider's name.
    ByTheOperator,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProviderPin {
    pub provider: ProviderId,
    pub thumbprint: Thumbprint,
    pub pin: Pin,
}

/// What was left out, and why.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum NotChecked {
    /// No witnesses, no ticks, no slot history.
    Anchors,
    /// The evaluation itself was not run again.
    Replay,
    /// Decisions name their grants by digest, and grants are not in the package.
    Grants,
    /// Amounts are sealed: CHARGE_MISMATCH was not looked for.
    Charges,
    /// What decides, and days that began before the first entry.
    BeforeTheFirst(u64),
    /// Calls without a statement, where the registry that says whether one was due was not given.
    Duties(u64),
    /// Withheld and erased statements: what is missing beside them may be there.
    Absences,
    TooManyLate(usize),
}

impl fmt::Display for NotChecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anchors => {
                f.write_str("that the record ends here: no witness and no tick is in the package")
            }
            Self::Replay => {
                f.write_str("that rules and facts give these verdicts: nothing was evaluated again")
            }
            Self::Grants => f.write_str("that the grants were those in force: only their digests are here"),
            Self::Charges => f.write_str("that nothing was charged above its quote: amounts are sealed"),
            Self::BeforeTheFirst(first) => {
                write!(f, "what was in force at entry {first}, where the package starts")
            }
            Self::Duties(calls) => {
                write!(f, "whether {calls} calls without a statement were owed one: no registry was given")
            }
            Self::Absences => f.write_str("that no statement is missing: some are withheld or erased"),
            Self::TooManyLate(count) => write!(f, "{count} decisions that late statements name"),
        }
    }
}

/// How many open actions a report names.
const NAMED: usize = 20;

#[derive(Clone, Debug)]
pub struct Report {
    pub verdict: Verdict,
    pub first: u64,
    pub size: u64,
    pub root: Option<Hash>,
    /// Entries whose body is there and was checked.
    pub verified: u64,
    pub withheld: u64,
    /// Bodies that were emptied under a tombstone.
    pub erased: u64,
    /// Calls by how they ended.
    pub calls: BTreeMap<(Account, Status), u64>,
    /// Findings that stand in the record.
    pub findings: BTreeMap<FindingCode, u64>,
    /// Calls at the edges that are not over yet, and the first of them.
    pub open: u64,
    pub open_actions: Vec<ActionId>,
    /// The most calls that were open at once: what memory grew with.
    pub most_open: usize,
    pub providers: Vec<ProviderPin>,
    pub incomplete: Vec<String>,
    pub not_checked: Vec<NotChecked>,
}

impl Report {
    pub(super) fn of_nothing() -> Self {
        Self {
            verdict: Verdict::Incomplete("nothing was read".to_owned()),
            first: 0,
            size: 0,
            root: None,
            verified: 0,
            withheld: 0,
            erased: 0,
            calls: BTreeMap::new(),
            findings: BTreeMap::new(),
            open: 0,
            open_actions: Vec::new(),
            most_open: 0,
            providers: Vec::new(),
            incomplete: Vec::new(),
            not_checked: Vec::new(),
        }
    }

    pub(super) fn is_open(&mut self, action: ActionId) {
        self.open += 1;
        if self.open_actions.len() < NAMED {
            self.open_actions.push(action);
        }
    }
}
