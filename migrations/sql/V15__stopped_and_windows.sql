-- What kills stopped besides the whole project, and until when windows stand: in the head's row, so that the record
-- transaction has them with the lock that it takes anyway, and no kill has to wait for a second one.
alter table heads
    add column stopped          text   not null default '',    -- agt_…, key_…, live, test; sorted, one space between
    add column breakglass_until bigint,
    add column shadow_until     bigint;
