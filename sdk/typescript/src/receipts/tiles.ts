/** A log that is read over HTTP. */
import { fetchBytes } from "../format/fetching.js";
import type { Fetch } from "../verify/tiles.js";

export { Tiles, type Fetch } from "../verify/tiles.js";

export function overHttp(address: string): Fetch {
  const base = address.replace(/\/+$/, "");
  return (path) => fetchBytes(`${base}/${path}`, 64 * 1024);
}
