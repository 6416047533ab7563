/*
 * What is said of memories that are larger than what the waste tool follows.
 */

const MIB = 2 ** 20;

/** Why the tool records nothing of a module. `what`: whose size it is, as the beginning of a sentence. */
export function tooLargeSentence(what: string, bytes: number, covered: number): string {
  return (
    `${what} ${Math.ceil(bytes / MIB)} MiB, of which the waste tool can follow ${wholeMib(covered)}: ` +
    "it counts nothing of this module. The other tools (--tool heap, --tool workingset) follow up to 4096 MiB; this one follows a " +
    "memory that begins smaller, and holds it at its limit."
  );
}

/** What was refused while the program ran, and why. `asked`: pages. */
export function refusedSentence(times: number, asked: number, covered: number): string {
  return (
    `The program asked for ${Math.ceil(asked / 16)} MiB of memory and did not get it${times > 1 ? ` (${times} requests)` : ""}: ` +
    `the shadow memory of the waste tool has room for ${wholeMib(covered)} of the program's, and memory.grow fails ` +
    "there. Without this tool, as with --tool heap or --tool workingset, it can grow on."
  );
}

/** That a program has all the memory that it can get. */
export function heldSentence(covered: number): string {
  return `The memory reached ${wholeMib(covered)}, all that the waste tool can follow, and could not grow further.`;
}

function wholeMib(bytes: number): string {
  return `${Math.floor(bytes / MIB)} MiB`;
}
