const MIB = 2 ** 20;

/**
 * Explains why the tool records nothing of a module. `subject` begins the sentence and names the memory whose size it is.
 */
export function tooLargeSentence(subject: string, bytes: number, covered: number): string {
  return (
    `${subject} ${Math.ceil(bytes / MIB)} MiB, of which the waste tool can follow ${wholeMib(covered)}: ` +
    "it counts nothing of this module. The other tools (--tool heap, --tool workingset) follow up to 4096 MiB; this one follows a " +
    "memory that begins smaller, and holds it at its limit."
  );
}

/** Explains that requests for memory were refused while the program ran. `requestedPages` is the largest size. */
export function refusedSentence(times: number, requestedPages: number, covered: number): string {
  return (
    `The program asked for ${Math.ceil(requestedPages / 16)} MiB of memory and did not get it${times > 1 ? ` (${times} requests)` : ""}: ` +
    `the shadow memory of the waste tool has room for ${wholeMib(covered)} of the program's, and memory.grow fails ` +
    "there. Without this tool, as with --tool heap or --tool workingset, it can grow on."
  );
}

/** Explains that a program reached the largest memory that the tool can cover. */
export function heldSentence(covered: number): string {
  return `The memory reached ${wholeMib(covered)}, all that the waste tool can follow, and could not grow further.`;
}

function wholeMib(bytes: number): string {
  return `${Math.floor(bytes / MIB)} MiB`;
}
