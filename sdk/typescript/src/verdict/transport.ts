/**
 * One question over HTTP: two seconds, three attempts, one idempotency key.
 *
 * The key is derived from the content, so a question that is asked again is the same question and gets the stored answer.
 */
import { digestOf } from "../format/bytes.js";
import { canonical } from "../format/canonical.js";
import { fetchAnswer, type Answer } from "../format/fetching.js";
import { JsonError, isObject, parse, type JsonObject } from "../format/json.js";
import { Breaker } from "./breaker.js";
import { NoVerdict } from "./refusal.js";

const DEADLINE = 2_000;
const ATTEMPTS = 3;
const LARGEST_ANSWER = 4 * 1024 * 1024;

export interface TransportOptions {
  /** Where the gateway is reached. */
  gateway: string;
  /** `cfk_…` */
  apiKey: string;
  now?: () => number;
}

export class Transport {
  readonly #breaker: Breaker;

  constructor(private readonly options: TransportOptions) {
    this.#breaker = new Breaker(options.now ?? Date.now);
  }

  /** `identity` is what makes two questions one: the body without its times. */
  async ask(method: "POST" | "PUT", path: string, body: object, identity: object): Promise<JsonObject> {
    const key = digestOf(canonical([method, path, identity])).slice("sha256:".length);
    if (!this.#breaker.take()) throw new NoVerdict("resting", "nobody answered five times in a row");
    let why = "";
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      if (attempt > 0) await new Promise((resolve) => setTimeout(resolve, 50 * 2 ** attempt));
      const answer = await this.#once(method, path, body, key).catch((error: Error) => error.message);
      if (typeof answer !== "string") {
        this.#breaker.answered();
        return judged(answer);
      }
      why = answer;
    }
    this.#breaker.unanswered();
    throw new NoVerdict("unanswered", why);
  }

  /** A string is the reason to ask again. */
  async #once(method: string, path: string, body: object, key: string): Promise<Answer | string> {
    const address = this.options.gateway.replace(/\/+$/, "") + path;
    const headers = {
      authorization: `Bearer ${this.options.apiKey}`,
      "content-type": "application/json",
      "idempotency-key": key,
      "counterfoil-want": "full",
    };
    const answer = await fetchAnswer(address, LARGEST_ANSWER, DEADLINE, { method, headers, body: JSON.stringify(body) });
    return answer.status === 429 || answer.status >= 500 ? `status ${answer.status}` : answer;
  }
}

function judged({ status, bytes }: Answer): JsonObject {
  if (status !== 200 && status !== 201) throw new NoVerdict("rejected", `status ${status}`);
  try {
    const answer = parse(bytes, "foreign", LARGEST_ANSWER);
    if (isObject(answer)) return answer;
    throw new NoVerdict("malformed", "the answer is no object");
  } catch (error) {
    if (error instanceof JsonError) throw new NoVerdict("malformed", error.message);
    throw error;
  }
}
