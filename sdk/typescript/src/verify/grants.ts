/** Grants at a place in the chain: what stands, and that a call leans on nothing that does not. */
import type { JsonObject } from "../format/json.js";
import { isClearedDecision } from "./matter.js";
import { Fault } from "./report.js";

/** A decision is entered within fifteen seconds, so it may have been judged by a grant that ended meanwhile. */
const JUDGED_BEFORE = 60_000;
/** Ids of rules never begin so. */
const PREFIX = "grt_";

interface Standing {
  agent: unknown;
  service: unknown;
  verb: unknown;
  /** Control from which it stands. */
  from: number;
  until: number;
}

export class Grants {
  private readonly standing = new Map<string, Standing>();

  /** Takes over what gives, changes or takes grants; throws a `Fault` for a change of one that does not stand, and for a call that leans on one. */
  follow(said: JsonObject, now: number): void {
    if (said.typ === "grant/v1") this.change(said, now);
    else if (said.typ === "kill/v1" && said.scope === undefined) this.standing.clear();
    else if (said.typ === "decision/v1" && isClearedDecision(said)) this.gate(said);
  }

  private change(said: JsonObject, now: number): void {
    const { agent, service, verb } = said;
    for (const [id, { until }] of this.standing) if (now - until > JUDGED_BEFORE) this.standing.delete(id);
    const id = String(said.grant);
    const stood = this.standing.get(id);
    this.standing.delete(id);
    const stands = stood !== undefined && stood.until > now && isFor(stood, said.agent, said);
    if (stands === (said.event === "given")) throw new Fault(`gives a grant ${stands ? "that stands already" : "anew that does not stand"}`);
    if (said.event === "removed") return;
    this.standing.set(id, { agent, service, verb, from: stood?.from ?? Number(said.control), until: Date.parse(String(said.until)) });
  }

  /** Every grant that made this verdict is this agent's and for this action, stood when it was judged, and had not ended. */
  private gate(decision: JsonObject): void {
    const named = (decision.rules as string[]).filter((id) => id.startsWith(PREFIX));
    if (decision.reason === "grant" && named.length === 0) throw new Fault("lets a call go out by a grant, and names none");
    if (!named.every((id) => letsGo(this.standing.get(id), decision))) throw new Fault("lets a call go out by a grant that does not stand for it");
  }
}

function isFor(grant: Standing, agent: unknown, action: JsonObject): boolean {
  return grant.agent === agent && grant.service === action.service && grant.verb === action.verb;
}

function letsGo(grant: Standing | undefined, decision: JsonObject): boolean {
  const action = decision.class as JsonObject | null;
  return grant !== undefined && action !== null && isFor(grant, decision.agent, action)
    && grant.from <= Number(decision.control) && Date.parse(String(decision.at)) < grant.until;
}
