const MIB = 2 ** 20;

/** What somebody can do whose memory is larger than what the waste tool follows. */
const WHAT_HELPS =
  "The other tools (--tool heap, --tool workingset) follow up to 4096 MiB; this one follows a memory that begins smaller, and holds " +
  "it at its limit.";

/** Why the tool records nothing of a module. `what`: whose size it is, as the beginning of a sentence. */
export function tooLargeSentence(what: string, bytes: number, covered: number, help = WHAT_HELPS): string {
  return (
    `${what} ${Math.ceil(bytes / MIB)} MiB, of which the waste tool can follow ${Math.floor(covered / MIB)} MiB: ` +
    `it counts nothing of this module. ${help}`
  );
}

/** What was refused while the program ran, and why. `asked`: pages. */
export function refusedSentence(times: number, asked: number, covered: number): string {
  return (
    `The program asked for ${Math.ceil(asked / 16)} MiB of memory and did not get it${times > 1 ? ` (${times} requests)` : ""}: ` +
    `the shadow memory of the waste tool has room for ${Math.floor(covered / MIB)} MiB of the program's, and memory.grow fails ` +
    "there. Without this tool, as with --tool heap or --tool workingset, it can grow on."
  );
}
