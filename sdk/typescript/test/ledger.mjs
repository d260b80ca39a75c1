// A ledger of these tests: it signs decisions, gives them places, and serves its checkpoint and tiles.
import { base64, base64url, digestOf } from "../dist/format/bytes.js";
import { documentValue } from "../dist/format/bound.js";
import { canonical } from "../dist/format/canonical.js";
import { commit, salt } from "../dist/format/commitment.js";
import { envelopeDigest, sign } from "../dist/format/envelope.js";
import { signCheckpoint } from "../dist/format/checkpoint.js";
import { now } from "../dist/format/now.js";
import { SigningKey } from "../dist/format/signer.js";
import { inclusionPath, leafHash, nodeHash, rootOf } from "../dist/format/tree.js";
import { ISSUER, PROJECT, jwk, keySet, nonce } from "./world.mjs";

export const DECISION_KEY = SigningKey.fromSeed(Buffer.alloc(32, 0x11));
export const LOG_KEY = SigningKey.fromSeed(Buffer.alloc(32, 0x14));
export const PINNED_KEYS = keySet([jwk(DECISION_KEY, "decision"), jwk(LOG_KEY, "log")]);
const ORIGIN = ISSUER.slice("https://".length);
const SEED = Buffer.from("000102030405060708090a0b0c0d0e0f", "hex");
const ACTION = "act_019355a0c1007000800000000000b001";

export function decision(changes = {}, args = {}) {
  const digest = digestOf("something");
  return {
    typ: "decision/v1", iss: ISSUER, project: PROJECT, env: "live", action: ACTION, follows: null, supersedes: null, session: null,
    run: null, at: new Date().toISOString(), nonce: nonce(), origin: "sdk", mode: "hook", via: "key_1",
    agent: "agt_019355a0c0007000800000000000d001", principal: null, provider: "notes", tool: "note_write", pin: digest, class: null,
    shape: {}, args: commit(SEED, "args", documentValue(args)), facts: commit(SEED, "facts", digest), verdict: "ALLOW", reason: "rule",
    rules: ["notes-update"], policy: digest, grants: digest, control: 1, gen: 0, effect: "enforced", marks: [], hold: null, answers: null,
    capability: null, ask: null, quote: null, plan: null, ...changes,
  };
}

export class Ledger {
  leaves = [];
  receipts = [];
  nodes = new Map();
  prev = digestOf(`counterfoil/genesis/v1\n${PROJECT}`);

  constructor({ log = LOG_KEY } = {}) {
    this.log = log;
  }

  get node() {
    const { leaves, nodes } = this;
    return function* node(level, at) {
      if (level === 0) return leaves[at];
      const name = `${level}/${at}`;
      const hash = nodes.get(name) ?? (yield* nodeHash(yield* node(level - 1, at * 2), yield* node(level - 1, at * 2 + 1)));
      nodes.set(name, hash);
      return hash;
    };
  }

  async append(payload = decision(), key = DECISION_KEY) {
    const statement = await sign(payload, key);
    const at = new Date(Date.parse(payload.at) + 1).toISOString();
    const entry = {
      v: 1, project: PROJECT, seq: this.leaves.length, epoch: at.slice(0, 10), at, kind: "decision", body: envelopeDigest(statement), prev: this.prev,
    };
    this.prev = digestOf(canonical(entry));
    this.leaves.push(now(leafHash(canonical(entry))));
    const path = now(inclusionPath(entry.seq, this.leaves.length, this.node)).map((hash) => `${base64(hash)}\n`).join("");
    const proof = `c2sp.org/tlog-proof@v1\nindex ${entry.seq}\n${path}\n${await this.checkpoint()}`;
    const receipt = { typ: "receipt/v1", statement, entry, proof };
    this.receipts.push(receipt);
    return receipt;
  }

  checkpoint() {
    const root = now(rootOf(this.leaves.length, this.node));
    return signCheckpoint({ origin: ORIGIN, size: this.leaves.length, root }, this.log.publicKey, this.log);
  }

  fetch = async (path) => {
    if (path === "checkpoint") return Buffer.from(await this.checkpoint());
    if (path === "jwks.json") return Buffer.from(PINNED_KEYS);
    if (path.startsWith("receipts/")) return Buffer.from(JSON.stringify(this.receipts[Number(path.slice(9))]));
    if (path.startsWith("entries.json?from=")) {
      const rows = this.receipts.slice(Number(path.slice(18))).slice(0, 256);
      const entries = rows.map(({ entry, statement }) => ({ entry, seq: entry.seq, body: statement }));
      return Buffer.from(JSON.stringify({ typ: "entries/v1", size: this.leaves.length, entries }));
    }
    const [, level, index, width] = /^tile\/(\d)\/(\d{3})(?:\.p\/(\d+))?$/.exec(path);
    const count = Number(width ?? 256);
    return Buffer.concat(Array.from({ length: count }, (_, at) => now(this.node(Number(level) * 8, Number(index) * 256 + at))));
  };
}

/** What the verdict API answers. */
export function answer(receipt, changes = {}) {
  const { payload } = receipt.statement;
  return {
    action_id: payload.action,
    decision: { decision_id: envelopeDigest(receipt.statement).replace("sha256:", "dec_"), verdict: payload.verdict, engine: "test", effect: payload.effect },
    "dev.counterfoil/receipt": { typ: "receipt-full/v1", receipt, openings: [["args", base64url(salt(SEED, "args"))]] },
    ...changes,
  };
}
