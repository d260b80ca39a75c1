-- Where the comparison of decisions, observations and provider statements stands. A work list and indexes, not a
-- record: the findings themselves are entries, and all of this can be made again from them.

-- How far the entries of a project were compared: all below `upto`. Those that are findings, clearances and resolutions
-- are taken over into `findings` below `noted`. `turn` counts commits of the comparison: of two that began from the
-- same turn, one is given up, so nothing is compared twice.
create table reconciled (
    project_id uuid   primary key references projects,
    upto       bigint not null check (upto >= 0),
    noted      bigint not null default 0 check (noted >= 0),
    turn       bigint not null default 0 check (turn >= 0)
);

-- One row a decision that was compared. `again_after`: from then on time alone may change its status. The last two
-- are numbers of entries that name it: its first observation, and those of the provider's statements that the answer to
-- a later one depends on, at most three (`reconcile::remembered`).
create table matters (
    project_id  uuid   not null,
    seq         bigint not null,                   -- of the decision
    decision    bytea  not null check (length(decision) = 32),
    action      uuid   not null,
    account     text   not null check (account in ('governed', 'rehearsal', 'break_glass')),
    status      text   not null,
    again_after bigint,
    observed    bigint,
    remembered  bigint[] not null default '{}',
    primary key (project_id, seq)
);
-- UUIDv7 ids grow with time, so this index grows at its end.
create index matters_by_action on matters (project_id, action);
create index matters_due on matters (project_id, again_after) where again_after is not null;

-- What a decision's provider signed about it, each thing once: a repeat is known without reading all that came before.
create table said (
    project_id  uuid   not null,
    decision    bigint not null,                   -- seq of the decision
    fingerprint bytea  not null check (length(fingerprint) = 32),
    seq         bigint not null,                   -- of the first statement that says this
    primary key (project_id, decision, fingerprint)
);

-- How many forged and foreign statements came from each key in each hour (of entry time, since 1970). The first 20 have
-- findings of their own; this counts them and the rest.
create table apart_counts (
    project_id uuid   not null references projects,
    hour       bigint not null,
    sort       text   not null check (sort in ('forged', 'foreign')),
    key        text   not null,                    -- thumbprint; empty for all unknown keys together
    statements bigint not null check (statements > 0),
    primary key (project_id, hour, sort, key)
);

-- Definitions for which TOOL_CHANGED was said, under each registry (`control`): once, not with every call.
create table changed_tools (
    project_id uuid   not null,
    provider   text   not null,
    tool       text   not null,
    control    bigint not null,
    pin        bytea  not null check (length(pin) = 32),
    seq        bigint not null,                    -- of the decision that the finding is about
    primary key (project_id, provider, tool, control, pin)
);

-- How many decisions stand how: the sums of `matters`, so that a page need not count a million rows.
create table tallies (
    project_id uuid   not null references projects,
    account    text   not null,
    status     text   not null,
    calls      bigint not null check (calls >= 0),
    primary key (project_id, account, status)
);

-- Findings by what they are about. `apart`: about a forged or foreign statement, capped per key and hour, shown by itself.
create table findings (
    project_id uuid    not null,
    seq        bigint  not null,                   -- of the finding
    digest     bytea   not null check (length(digest) = 32),
    code       text    not null,
    action     uuid,
    statement  bytea            check (length(statement) = 32),
    about      bigint,                             -- seq of what it is about
    apart      boolean not null,
    cleared    bigint,                             -- seq of the clearance
    resolved   bigint,                             -- seq of the newest resolution
    primary key (project_id, seq)
);
create unique index findings_once on findings (project_id, action, code, statement) nulls not distinct
    where statement is not null;
create index findings_by_digest on findings (project_id, digest);
create index findings_open on findings (project_id, apart, seq) where cleared is null;

-- Entries other than calls are few: keys, rules, findings, coverage, epochs are found without reading the calls between.
create index entries_by_kind on entries (project_id, kind, seq) where kind not in ('decision', 'observation', 'execution');

do $$
declare
    named text;
begin
    foreach named in array array['reconciled', 'matters', 'said', 'apart_counts', 'changed_tools', 'tallies',
                                 'findings']
    loop
        execute format('alter table %I enable row level security', named);
        execute format('alter table %I force row level security', named);
        execute format(
            'create policy one_project on %I using (project_id = current_setting(''counterfoil.project'')::uuid) '
            'with check (project_id = current_setting(''counterfoil.project'')::uuid)', named);
    end loop;
end
$$;

grant select, insert, update on reconciled, matters, apart_counts, tallies, findings to counterfoil_app;
grant select, insert on said, changed_tools to counterfoil_app;
grant select on reconciled, matters, apart_counts, tallies, findings to counterfoil_reader;

-- Calls of which OUTCOME_UNKNOWN was said are not on the list of open calls any more: what closes the finding is found by the
-- comparison. The owner is held to row-level security like everybody, so it is lifted for this one change.
alter table open_calls no force row level security;
delete from open_calls where finding is not null;
alter table open_calls force row level security;
alter table open_calls drop column finding, drop column came;
-- To lock rows that are then deleted; nobody changes one.
grant update (at) on open_calls to counterfoil_app;
