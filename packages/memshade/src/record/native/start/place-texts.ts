/** Texts of a program as they stand in memory. */
export interface PlacedTexts {
  readonly bytes: Uint8Array;
  /** Addresses of the two tables of addresses. */
  readonly argv: number;
  readonly environment: number;
  /** A variable that is to have the process's own number. */
  readonly number: { readonly end: number; readonly pointer: number } | undefined;
}

const WORD_BYTES = 8;
/** As many as the highest number of a process has. */
const NUMBER_DIGITS = 7;
/** Sockets that systemd hands to a program are for the process with this number alone. */
export const FOR_PROCESS = "LISTEN_PID=";
/** It tells the process in another way, which nobody can know before it begins. */
const FOR_PROCESS_ID = "LISTEN_PIDFDID=";

/**
 * Places arguments and variables at an address, as `execve` takes them.
 *
 * @param starter the process that was started in the place of the program: sockets that are meant for it are for the program
 */
export function placeTexts(
  {
    argv,
    environment,
    starter,
  }: { argv: readonly Uint8Array[]; environment: readonly Uint8Array[]; starter: number | undefined },
  address: number,
): PlacedTexts {
  const isForUs = (bytes: Uint8Array): boolean => textOf(bytes) === `${FOR_PROCESS}${starter}`;
  const isHanded = environment.some(isForUs);
  const variables = environment
    .filter((bytes) => !isHanded || !textOf(bytes).startsWith(FOR_PROCESS_ID))
    .map((bytes) =>
      isForUs(bytes) ? new TextEncoder().encode(FOR_PROCESS + "0".repeat(NUMBER_DIGITS)) : bytes,
    );
  const all = [...argv, ...variables];
  const words = new BigUint64Array(all.length + 2);
  let at = address + words.byteLength;
  let number: PlacedTexts["number"];
  for (const [i, bytes] of all.entries()) {
    const word = i < argv.length ? i : i + 1;
    words[word] = BigInt(at);
    if (isHanded && i >= argv.length && textOf(bytes).startsWith(FOR_PROCESS))
      number = { end: at + bytes.length, pointer: address + word * WORD_BYTES };
    at += bytes.length + 1;
  }
  const bytes = new Uint8Array(at - address);
  bytes.set(new Uint8Array(words.buffer));
  let end = words.byteLength;
  for (const text of all) {
    bytes.set(text, end);
    end += text.length + 1;
  }
  return { bytes, argv: address, environment: address + (argv.length + 1) * WORD_BYTES, number };
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes.subarray(0, 100));
}
