-- The ledger. Every key starts with project_id, no sequence crosses tenants, times are milliseconds since 1970.
-- No unique index stands on a random digest: it would write to a random page for every entry.

create table projects (
    project_id     uuid   primary key,
    slot           bigint not null,
    public_id      text   not null,
    issuer         text   not null,
    name           text   not null,
    env            text   not null check (env in ('live', 'test')),
    base_verdict   text   not null check (base_verdict in ('STEP_UP', 'DENY')),
    disclosure_key text   not null,
    grants_nonce   text   not null,
    created_at     bigint not null
);

-- One row a project; its lock orders every append. Nothing else does.
create table heads (
    project_id   uuid    primary key references projects,
    size         bigint  not null check (size >= 0),
    root         bytea   not null check (length(root) = 32),
    frontier     bytea   not null,
    last_hash    bytea   not null check (length(last_hash) = 32),
    last_at      bigint  not null,
    epoch_first  bigint  not null,                  -- first seq of the day of last_at
    epoch_counts text    not null,                  -- JSON: entries and verdicts of that day so far
    control      bigint  not null,
    floor        bigint  not null check (floor <= control),
    gen          bigint  not null,
    killed       boolean not null,
    policy       bytea,                             -- bundle in force; null until both documents are published
    registry     bytea,
    rules        bytea,
    checkpoint   text    not null                   -- newest signed note; empty before the first entry
);

-- One row a commit: the signed note that the commit's receipts stand under.
create table checkpoints (
    project_id uuid   not null references projects,
    size       bigint not null,
    root       bytea  not null check (length(root) = 32),
    at         bigint not null,
    note       text   not null,
    primary key (project_id, size)
);

-- An entry's hashed columns, its body, where it stands in the tree, and projections that only find rows: what a
-- page says is read out of `body`, and the self-audit compares the two. There is no foreign key to heads on
-- purpose: its check would lock the head row once more for every entry.
create table entries (
    project_id      uuid   not null,
    seq             bigint not null check (seq >= 0),
    at              bigint not null,
    kind            text   not null,
    body_digest     bytea  not null check (length(body_digest) = 32),
    prev            bytea  not null check (length(prev) = 32),
    hash            bytea  not null check (length(hash) = 32),
    body            bytea,
    path            bytea  not null check (length(path) % 32 = 0),
    checkpoint_size bigint not null check (checkpoint_size > seq),
    action          uuid,
    decision        bytea,
    agent           uuid,
    verdict         text,
    reason          text,
    provider        text,
    tool            text,
    status          text,
    primary key (project_id, seq)
);

-- UUIDv7 ids grow with time, so this index grows at its end.
create index entries_by_action on entries (project_id, action, seq) where action is not null;

-- Signing keys as key/v1 entries introduced, retired and revoked them.
create table signing_keys (
    project_id    uuid   not null references projects,
    thumbprint    text   not null,
    purpose       text   not null,
    provider      text,
    x             text   not null,
    introduced    bigint not null,
    introduced_at bigint not null,
    ended         bigint,
    ended_at      bigint,
    revoked       boolean not null default false,
    primary key (project_id, thumbprint),
    check ((ended is null) = (ended_at is null))
);

create table credentials (
    project_id uuid   not null references projects,
    key_id     uuid   not null,
    digest     bytea  not null check (length(digest) = 32),
    agent      uuid   not null,
    principal  text,
    created_at bigint not null,
    revoked_at bigint,
    primary key (project_id, key_id)
);

create table idempotency (
    project_id  uuid   not null,
    env         text   not null,
    credential  uuid   not null,
    key         text   not null check (length(key) between 1 and 255),
    fingerprint bytea  not null check (length(fingerprint) = 32),
    seq         bigint not null,
    primary key (project_id, env, credential, key)
);

-- Texts of published registries and rules; the entry holds their digest.
create table documents (
    project_id uuid   not null references projects,
    seq        bigint not null,
    kind       text   not null check (kind in ('registry', 'rules')),
    digest     bytea  not null check (length(digest) = 32),
    text       text   not null,
    primary key (project_id, seq)
);

-- Sealed to the project's disclosure key; nobody here can open them. They die with the body they belong to.
create table openings (
    project_id uuid   not null references projects,
    opening_id uuid   not null,
    decision   bytea  not null check (length(decision) = 32),
    at         bigint not null,
    jwe        text   not null,
    primary key (project_id, opening_id)
);
create index openings_by_decision on openings (project_id, decision);

-- Ranges of entries whose bodies may be emptied, written by the transaction that appended the tombstone.
create table tombstones (
    project_id uuid   not null references projects,
    seq        bigint not null,
    first_seq  bigint not null,
    last_seq   bigint not null check (last_seq >= first_seq),
    appended   xid8   not null default pg_current_xact_id(),
    primary key (project_id, seq)
);

-- What the self-audit last found.
create table audits (
    project_id uuid    primary key references projects,
    at         bigint  not null,
    size       bigint  not null,
    broken     text                                 -- null: clean; else the first thing that is not, and where
);
