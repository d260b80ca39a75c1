/** What decides at a place in the chain, as the entries before it make it: control, floor, generation, documents. */
import type { JsonObject } from "../format/json.js";
import { isClearedDecision } from "./matter.js";
import { Fault } from "./report.js";

interface Numbers {
  control: number;
  floor: number;
  gen: number;
}

export class Control {
  private now: Numbers = { control: 0, floor: 0, gen: 0 };
  private isKilled = false;
  /** Agents, connections and environments that are killed, by their ids. */
  private readonly stopped = new Set<string>();
  /** Until when windows stand, or stood, in milliseconds; time alone ends them too. */
  private readonly until = { breakglass: -Infinity, shadow: -Infinity };
  private hasRegistry = false;
  private hasRules = false;
  /** The bundle in force from a control number on, ascending. What no decision may name any more is dropped. */
  private bundles: { from: number; policy: string }[] = [];

  /** Takes over what a statement changes; throws a `Fault` if it does not follow from those before. `at` is its entry's time. */
  follow(said: JsonObject, at: number): void {
    const numbers = said as unknown as Numbers;
    switch (said.typ) {
      case "key/v1":
        return this.step(numbers, "stays or follows", this.now.gen);
      case "registry/v1":
      case "rules/v1":
        return this.publish(said, numbers);
      case "kill/v1":
        return this.kill(said, numbers);
      case "resume/v1":
        this.step(numbers, "stays", this.now.gen);
        if (said.scope === undefined) this.isKilled = false;
        else this.stopped.delete(String(said.scope));
        return;
      case "grant/v1":
        return this.step(numbers, said.event === "given" || said.event === "renewed" ? "stays" : "follows", this.now.gen);
      case "breakglass/v1":
      case "shadow/v1":
        this.until[said.typ === "shadow/v1" ? "shadow" : "breakglass"] = said.event === "opened" ? Date.parse(String(said.until)) : -Infinity;
        return this.step(numbers, said.event === "opened" ? "stays" : "follows", this.now.gen);
      case "coverage/v1":
      case "settings/v1":
        return this.unmoved(numbers);
      case "decision/v1":
        return isClearedDecision(said) ? this.gate(said, at) : undefined;
      default:
        // The other kinds change nothing that decides.
    }
  }

  /** A kill of the whole project counts a generation; one of an agent, a connection or an environment does not. */
  private kill(said: JsonObject, numbers: Numbers): void {
    this.step(numbers, "follows", this.now.gen + (said.scope === undefined ? 1 : 0));
    if (said.scope === undefined) {
      this.isKilled = true;
      this.until.breakglass = this.until.shadow = -Infinity;
    } else this.stopped.add(String(said.scope));
  }

  private publish(said: JsonObject, numbers: Numbers): void {
    const isRegistry = said.typ === "registry/v1";
    // The first registry takes nothing away; later ones may.
    this.step(numbers, isRegistry && this.hasRegistry ? "follows" : "stays or follows", this.now.gen);
    if (isRegistry) this.hasRegistry = true;
    else this.hasRules = true;
    if (this.hasRegistry && this.hasRules) this.bundles.push({ from: this.now.control, policy: String(said.policy) });
  }

  /** What changes nothing that decides carries the numbers in force. */
  private unmoved({ control, floor, gen }: Numbers): void {
    const { now } = this;
    if (control !== now.control || floor !== now.floor || gen !== now.gen) throw this.differs({ control, floor, gen }, now);
  }

  private step(said: Numbers, floor: "follows" | "stays" | "stays or follows", gen: number): void {
    const control = this.now.control + 1;
    const holds = (floor !== "stays" && said.floor === control) || (floor !== "follows" && said.floor === this.now.floor);
    if (said.control !== control || said.gen !== gen || !holds) throw this.differs(said, { control, floor: this.now.floor, gen });
    this.now = { control, floor: said.floor, gen };
    const inForce = this.bundles.findLast(({ from }) => from <= said.floor)?.from ?? 0;
    this.bundles = this.bundles.filter(({ from }) => from >= inForce);
  }

  /** A call that may go out was judged by what was in force. */
  private gate(decision: JsonObject, at: number): void {
    const { control, gen, policy } = decision as unknown as Numbers & { policy: string };
    const bundle = this.bundles.findLast(({ from }) => from <= control);
    const isStopped = [decision.agent, decision.via, decision.env].some((id) => this.stopped.has(String(id)));
    const why = this.isKilled ? "while the project is killed"
      : isStopped ? "for an agent, a connection or an environment that is killed"
      : gen !== this.now.gen ? "under another kill generation"
      : control > this.now.control ? "under a control number that was not reached"
      : control < this.now.floor ? "under what was no longer in force"
      : !this.windowsCarry(decision, at) ? "by a window that does not stand or softens no such verdict"
      : !bundle ? "before registry and rules were published"
      : bundle.policy !== policy ? "under another policy than was in force"
      : null;
    if (why !== null) throw new Fault(`lets a call go out ${why}`);
  }

  /** Whether every window that a cleared decision leans on stands. Shadow softens what published rules say and nothing else. */
  private windowsCarry({ effect, reason, marks }: JsonObject, at: number): boolean {
    const isSoftened = (reason === "rule" || reason === "no_rule") && at < this.until.shadow;
    const leansOnBreakglass = reason === "break_glass" || (marks as string[]).includes("break_glass");
    return (effect !== "advisory" || isSoftened) && (!leansOnBreakglass || at < this.until.breakglass);
  }

  private differs(said: Numbers, follows: Numbers): Fault {
    const text = ({ control, floor, gen }: Numbers) => `control ${control}, floor ${floor}, gen ${gen}`;
    return new Fault(`says ${text(said)}; the rest of the record gives ${text(follows)}`);
  }
}
