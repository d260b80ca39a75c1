//! Statements are values of their own type, so that none is put together at run time and a test finds them all.

/// One statement, written out in a `store.rs`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sql(&'static str);

impl Sql {
    /// Only for [`statements!`].
    pub(crate) const fn written(text: &'static str) -> Self {
        Self(text)
    }

    pub(crate) fn text(self) -> &'static str {
        self.0
    }
}

/// Names the statements of one `store.rs` and lists them in `ALL`, which a test prepares against the schema.
macro_rules! statements {
    ($($(#[$meta:meta])* $name:ident = $text:expr;)*) => {
        $($(#[$meta])* pub(crate) const $name: $crate::database::Sql = $crate::database::Sql::written($text);)*
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, $crate::database::Sql)] = &[$((stringify!($name), $name)),*];
    };
}
pub(crate) use statements;
