//! Promises of the repository itself: arrows between rooms, files of a size that can be read, no foreign addresses.

mod house {
    mod arrows;
    mod files;
    mod security;
}
