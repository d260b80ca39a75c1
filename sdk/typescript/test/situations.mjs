// P4: situations and what follows from them (docs/vectors/reconciliation).
import assert from "node:assert/strict";
import { isClearedDecision } from "../dist/verify/matter.js";
import { reconcile } from "../dist/verify/reconcile.js";
import { stray } from "../dist/verify/found.js";

const ACTION = "act_019355a0c1007000800000000000b001";
const TOP = ["about", "decision", "observation", "statements", "duty", "sign_within", "watch", "now", "status", "account", "findings", "clears", "again_after"];
const STANDINGS = {
  holds: (signer) => ({ holds: true, signer }),
  ended: () => ({ holds: false, ended: true }),
  fails: () => ({ holds: false, ended: false }),
};

function stated({ seq, at, name, standing, signer, provider, tool, outcome, args, result, charged }) {
  return {
    digest: name, seq, at: at * 1000, standing: STANDINGS[standing](signer), action: ACTION, decision: "decision", provider, tool, args, result,
    outcome, fingerprint: `${outcome} ${result}`, charged,
  };
}

function decided({ seq, at, mode, verdict, effect, marks, provider, tool, args, quoted }) {
  const isRehearsal = verdict !== "ALLOW" && effect === "advisory";
  return {
    digest: "decision", seq, at: at * 1000, action: ACTION, provider, tool, args, mode, quoted, isCleared: isClearedDecision({ verdict, effect }),
    account: marks.includes("break_glass") ? "break_glass" : isRehearsal ? "rehearsal" : "governed",
  };
}

const observed = ({ seq, at, status, is_error, result }) => ({ digest: "observation", seq, at: at * 1000, status, isError: is_error === true, result });
const pairs = (list, name) => list.map((one) => [one.code, one[name]]);

export function reconciliationCase(given) {
  if (given.stray) return assert.deepEqual(pairs([stray(stated(given.stray))], "statement"), given.findings);
  assert.deepEqual(Object.keys(given).sort(), [...TOP].sort(), "a case of a shape that nobody knows");
  const matter = {
    decided: decided(given.decision), observed: given.observation && observed(given.observation), stated: given.statements.map(stated),
  };
  const terms = { owes: given.duty === "owes", signWithin: given.sign_within * 1000 };
  const judge = () => reconcile(matter, terms, given.watch === "open", given.now * 1000);
  const found = judge();
  assert.deepEqual(pairs(found.findings, "statement"), given.findings);
  assert.deepEqual([found.status, found.account], [given.status, given.account]);
  assert.deepEqual(pairs(found.clears, "by"), given.clears);
  assert.equal(found.againAfter, given.again_after === null ? null : given.again_after * 1000);
  matter.stated.reverse();
  assert.deepEqual(judge(), found, "in another order");
}
