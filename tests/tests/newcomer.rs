//! What somebody meets who has a server of their own and two minutes: `counterfoil wrap`, with real processes.

mod newcomer {
    mod child;
    mod empty;
    mod remote;
}
