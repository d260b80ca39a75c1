/** Fetching, bounded: no redirect, a deadline over the whole answer, and not more than so many bytes. */

export interface Answer {
  status: number;
  bytes: Buffer;
}

export async function fetchAnswer(address: URL | string, most: number, milliseconds: number, init: RequestInit = {}): Promise<Answer> {
  const answer = await fetch(address, { ...init, redirect: "error", signal: AbortSignal.timeout(milliseconds) });
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (answer.body ?? []) as unknown as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > most) throw new Error(`${String(address)}: more than ${most} bytes`);
    chunks.push(chunk);
  }
  return { status: answer.status, bytes: Buffer.concat(chunks) };
}

/** The body of a GET that succeeded. */
export async function fetchBytes(address: URL | string, most: number, milliseconds = 5_000): Promise<Buffer> {
  const { status, bytes } = await fetchAnswer(address, most, milliseconds);
  if (status !== 200) throw new Error(`${String(address)}: ${status}`);
  return bytes;
}
