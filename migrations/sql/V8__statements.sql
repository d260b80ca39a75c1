-- Keys of providers, and what they signed. Indexes, not a record: the entries of kind `key` and `execution` are that,
-- and all of this can be made again from them.

-- The first entry whose signature held under the key: its owner has the secret half. A used key can only be revoked.
alter table signing_keys add column used bigint;
grant update (used) on signing_keys to counterfoil_app;

-- What a provider calls its own keys. Two may use one name, and one name may stand for several keys in turn.
create table key_aliases (
    project_id uuid not null,
    provider   text not null,
    alias      text not null check (length(alias) between 1 and 128),
    thumbprint text not null,
    primary key (project_id, alias, provider, thumbprint)
);

-- One row an entry of kind `execution`, so that the same word gets the same answer.
create table acceptances (
    project_id  uuid    not null,
    seq         bigint  not null,
    at          bigint  not null,
    action      uuid    not null,                  -- all zero where the statement names no id of ours
    fingerprint bytea   not null check (length(fingerprint) = 32),
    bytes       bytea   not null check (length(bytes) = 32),       -- digest of what came
    provider    text,                              -- whose key signed it; null where no key that counts did
    sender      text    not null,                  -- the API key, or `provider:<id>` where the gateway brought it
    charged     boolean not null,                  -- whether it was taken from the sender's hourly allowance
    primary key (project_id, seq)
);
create index acceptances_by_action on acceptances (project_id, action, fingerprint);
create index acceptances_charged on acceptances (project_id, sender, at) where charged;

do $$
declare
    named text;
begin
    foreach named in array array['key_aliases', 'acceptances']
    loop
        execute format('alter table %I enable row level security', named);
        execute format('alter table %I force row level security', named);
        execute format(
            'create policy one_project on %I using (project_id = current_setting(''counterfoil.project'')::uuid) '
            'with check (project_id = current_setting(''counterfoil.project'')::uuid)', named);
    end loop;
end
$$;

grant select, insert on key_aliases, acceptances to counterfoil_app;
