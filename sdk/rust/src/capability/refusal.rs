//! Why a call was not executed, one code for each way to be wrong.

use counterfoil_core::json::JsonError;
use std::fmt;

/// The code of the JSON-RPC error that a refused call is answered with.
pub const REFUSED: i64 = 4030;

macro_rules! codes {
    ($($name:ident $code:literal $message:literal;)*) => {
        /// Why. The words are the same in every SDK.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        pub enum RefusalCode {
            $(#[doc = $message] $name,)*
        }

        impl RefusalCode {
            /// Every code there is.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// For machines: `error.data.reason` of the answer.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            fn message(self) -> &'static str {
                match self { $(Self::$name => $message,)* }
            }
        }
    };
}

codes! {
    Missing "capability_missing" "the call carries no capability";
    Twice "capability_twice" "the capability in the header is another than the one in the message";
    TooLong "capability_too_long" "the capability is longer than 4096 bytes";
    Malformed "capability_malformed" "the capability is no signed token of three parts";
    Header "capability_header" "the capability's header is not {alg: EdDSA, typ: toolcap+jwt, kid}";
    Keys "capability_keys" "the gateway's key set cannot be had";
    Key "capability_key" "the capability is signed by a key that the gateway does not publish";
    Signature "capability_signature" "the capability's signature does not hold";
    Issuer "capability_issuer" "the capability is of another issuer";
    Audience "capability_audience" "the capability is for another provider";
    Environment "capability_environment" "the capability is for another environment";
    Unsupported "capability_unsupported" "the capability is for an advisory run, or bound to a certificate, and that is not accepted here";
    Life "capability_life" "the capability lives longer than 60 seconds";
    Time "capability_time" "the capability is not valid now";
    Tool "capability_tool" "the capability is for another tool";
    Arguments "capability_arguments" "the capability is for other arguments";
    NotBindable "capability_not_bindable" "the arguments have no canonical form";
    Killed "capability_killed" "the capability was minted before a kill";
    Generation "capability_generation" "the kill generation cannot be known";
    Receipt "capability_receipt" "the receipt of the decision is missing or does not verify";
    Used "capability_used" "the capability was used before";
    Store "capability_store" "used capabilities cannot be remembered now";
    Batch "capability_batch" "tool calls in a batch are not accepted";
}

impl fmt::Display for RefusalCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A call that was not executed. It never holds the token.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refusal {
    code: RefusalCode,
    detail: Option<String>,
}

impl Refusal {
    pub(crate) fn with(code: RefusalCode, detail: String) -> Self {
        Self { code, detail: Some(detail) }
    }

    #[must_use]
    pub fn code(&self) -> RefusalCode {
        self.code
    }
}

impl From<RefusalCode> for Refusal {
    fn from(code: RefusalCode) -> Self {
        Self { code, detail: None }
    }
}

/// Parameters without a single reading.
impl From<JsonError> for Refusal {
    fn from(error: JsonError) -> Self {
        Self::with(RefusalCode::NotBindable, error.to_string())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not executed: {}", self.code.message())?;
        self.detail.as_ref().map_or(Ok(()), |detail| write!(f, " ({detail})"))
    }
}

impl std::error::Error for Refusal {}
