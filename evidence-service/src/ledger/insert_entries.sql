insert into entries (project_id, seq, at, kind, body_digest, prev, hash, body, path, checkpoint_size,
                     action, decision, agent, verdict, reason, provider, tool, status)
select $1, row.seq, $2, row.kind, row.body_digest, row.prev, row.hash, row.body, row.path, $3,
       row.action, row.decision, row.agent, row.verdict, row.reason, row.provider, row.tool, row.status
from unnest($4::bigint[], $5::text[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bytea[], $10::bytea[],
            $11::uuid[], $12::bytea[], $13::uuid[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[])
    as row (seq, kind, body_digest, prev, hash, body, path,
            action, decision, agent, verdict, reason, provider, tool, status)
