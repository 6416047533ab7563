/**
 * Answer, given once, from another thread to one that waits for it without returning to its event loop. Layout: u32
 * state (0 open, 1 done, 2 failed), u32 length, then text in UTF-8.
 */
const HEADER_BYTES = 8;
const TEXT_BYTES = 4096;

export interface Reply {
  ok: boolean;
  text: string;
}

export function openReply(): SharedArrayBuffer {
  return new SharedArrayBuffer(HEADER_BYTES + TEXT_BYTES);
}

export function answer(reply: SharedArrayBuffer, { ok, text }: Reply): void {
  const header = new Int32Array(reply, 0, 2);
  const bytes = new TextEncoder().encode(text).subarray(0, TEXT_BYTES);
  new Uint8Array(reply, HEADER_BYTES).set(bytes);
  header[1] = bytes.length;
  Atomics.store(header, 0, ok ? 1 : 2);
  Atomics.notify(header, 0);
}

/** Blocks until the answer arrives; undefined once `isAlive` returns false. */
export function waitForReply(reply: SharedArrayBuffer, isAlive: () => boolean): Reply | undefined {
  const header = new Int32Array(reply, 0, 2);
  while (Atomics.load(header, 0) === 0)
    if (Atomics.wait(header, 0, 0, 200) === "timed-out" && !isAlive()) return undefined;
  const bytes = new Uint8Array(reply, HEADER_BYTES, header[1]).slice();
  return { ok: header[0] === 1, text: new TextDecoder().decode(bytes) };
}
