-- Held calls and what people answered. A work list, not a record: the decision that opened a hold, the answer and the
-- expiry are entries. Every writer of this table holds the lock of its project's head.
--
-- `sealed` is the gateway's secret, `card` (which names nouns) is sealed under the service's key-encryption key; both are
-- gone as soon as the hold can neither be answered nor dispatched.
create table holds (
    project_id  uuid    not null references projects,
    hold        uuid    not null,
    action      uuid    not null,
    decision    bytea   not null check (length(decision) = 32),   -- of the held decision's envelope
    seq         bigint  not null,                                 -- of its entry
    agent       uuid    not null,
    provider    text    not null,
    tool        text    not null,
    call        text    not null,                                 -- the gateways' HMAC of the call
    state       text    not null check (state in ('open', 'approved', 'denied', 'expired', 'swept', 'dispatched')),
    once_only   boolean not null,
    asked_at    bigint  not null,
    expires_at  bigint  not null,
    card_digest bytea   not null check (length(card_digest) = 32),
    sealed      text,
    card        text,
    answer      bytea            check (length(answer) = 32),     -- of the answer's envelope
    said        text             check (said in ('deny', 'approve_once', 'approve_for')),
    until       bigint,                                           -- as the answer says it
    primary key (project_id, hold),
    constraint holds_wiped check ((sealed is not null) = (state in ('open', 'approved'))
                              and (card is not null) = (state in ('open', 'approved'))),
    constraint holds_answered check ((answer is null) = (said is null)
                                 and (until is null) = (said is null or said = 'deny')
                                 and (state <> 'open' or answer is null)
                                 and (state not in ('approved', 'denied', 'dispatched') or answer is not null))
);
-- A repeated call finds its hold; ids grow with time, so the newest is the last.
create index holds_by_call on holds (project_id, agent, call, hold) where state in ('open', 'approved');
create index holds_due on holds (project_id, expires_at) where state in ('open', 'approved');

alter table holds enable row level security;
alter table holds force row level security;
create policy one_project on holds
    using (project_id = current_setting('counterfoil.project')::uuid)
    with check (project_id = current_setting('counterfoil.project')::uuid);

-- Nobody deletes a hold, and what it is about stays as it was inserted.
grant select, insert, update (state, sealed, card, answer, said, until) on holds to counterfoil_app;
grant select (project_id, hold, action, decision, seq, agent, state, asked_at, expires_at, answer, said, until)
    on holds to counterfoil_auditor;
