-- Row-level security, forced on the owner too. The tenant is set per transaction; a transaction that did not set
-- one gets an error, never another tenant's rows and never none in silence.

do $$
declare
    named text;
begin
    foreach named in array array['projects', 'heads', 'checkpoints', 'entries', 'signing_keys', 'credentials',
                                 'idempotency', 'documents', 'openings', 'tombstones', 'audits']
    loop
        execute format('alter table %I enable row level security', named);
        execute format('alter table %I force row level security', named);
        execute format(
            'create policy one_project on %I using (project_id = current_setting(''counterfoil.project'')::uuid) '
            'with check (project_id = current_setting(''counterfoil.project'')::uuid)', named);
    end loop;
end
$$;

grant select, insert on projects, checkpoints, entries, signing_keys, credentials, idempotency, documents, openings
    to counterfoil_app;
grant select, insert, update on heads, audits to counterfoil_app;
grant update (ended, ended_at, revoked) on signing_keys to counterfoil_app;
grant update (revoked_at) on credentials to counterfoil_app;
-- An answer under an expired or overtaken decision gives its key to the decision that takes its place.
grant update (fingerprint, seq) on idempotency to counterfoil_app;

grant select on projects, heads, checkpoints, entries, signing_keys, audits to counterfoil_reader;

grant select, insert on checkpoints, entries, tombstones to counterfoil_sweeper;
grant select on projects, signing_keys to counterfoil_sweeper;
grant select, update on heads to counterfoil_sweeper;
grant update (body) on entries to counterfoil_sweeper;
grant select, delete on openings to counterfoil_sweeper;

grant select on projects, heads, checkpoints, entries, signing_keys, documents, tombstones, audits
    to counterfoil_auditor;
