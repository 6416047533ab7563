import { MIB } from "../../../ground/bytes/sizes.ts";
import { groupDigits } from "../../../profile/model/counted.ts";

/**
 * Explains why the tool records nothing of a module. `subject` begins the sentence and names the memory whose size it is.
 */
export function tooLargeSentence(subject: string, bytes: number, covered: number): string {
  return (
    `${subject} ${groupDigits(Math.ceil(bytes / MIB))} MiB, more than the ${wholeMib(covered)} that the waste tool can cover: ` +
    "it records nothing of this module. Let the module begin with less memory, or use --tool heap or workingset, which cover 4 GiB."
  );
}

/** Explains that requests for memory were refused while the program ran. `requestedPages` is the largest size. */
export function refusedSentence(times: number, requestedPages: number, covered: number): string {
  return (
    `The program requested ${groupDigits(Math.ceil(requestedPages / 16))} MiB of memory and did not get it${times > 1 ? ` (${times} requests)` : ""}: ` +
    `the waste tool covers at most ${wholeMib(covered)} of the program's memory, and memory.grow fails beyond it. ` +
    "With --tool heap or workingset it can grow further."
  );
}

/** Explains that a program reached the largest memory that the tool can cover. */
export function heldSentence(covered: number): string {
  return `The memory reached ${wholeMib(covered)}, the most that the waste tool can cover, and could not grow further.`;
}

function wholeMib(bytes: number): string {
  return `${groupDigits(Math.floor(bytes / MIB))} MiB`;
}
