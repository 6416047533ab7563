import { basename } from "node:path";
import { counted, groupDigits } from "../../../profile/model/counted.ts";
import type { LaterFiles } from "./later-files.ts";
import { isRewritten, type RewrittenFile } from "./rewrite-files.ts";
import { leftAloneCount } from "./rewritten-cache.ts";

/** Most files in a sentence. */
const FILES_NAMED = 5;

/**
 * Returns sentences about code that ran unchanged, without a tool's code.
 * @param later files that were mapped later
 * @param isRemembered the next run has them rewritten, except those that it wrote
 */
export function notCounted(
  files: readonly RewrittenFile[],
  later: Pick<LaterFiles, "found" | "made">,
  isRemembered: boolean,
): string[] {
  const sentences: string[] = [];
  const refused = files.flatMap(({ original, facts }) =>
    "refused" in facts ? [`${basename(original)} (${facts.refused})`] : [],
  );
  if (refused.length > 0)
    sentences.push(
      `${counted(refused.length, "file", "files")} ran as ${refused.length === 1 ? "it is" : "they are"}, without being counted: ${listed(refused)}.`,
    );
  const facts = files.filter(isRewritten).flatMap(({ facts: one }) => ("refused" in one ? [] : [one]));
  const unchanged = facts.reduce((sum, { leftAlone }) => sum + leftAloneCount(leftAlone), 0);
  const functions = facts.reduce((sum, each) => sum + each.functions, unchanged);
  if (unchanged > 0)
    sentences.push(
      `${counted(unchanged, "function of", "functions of")} ${groupDigits(functions)} ran as ${unchanged === 1 ? "it is" : "they are"}: stubs, frames of signals, what cannot be decoded, and what is data, too.`,
    );
  const narrow = facts.reduce((sum, { unpatched }) => sum + unpatched.functions, 0);
  if (narrow > 0)
    sentences.push(
      `${counted(narrow, "function of", "functions of")} ${groupDigits(functions)} ${narrow === 1 ? "has" : "have"} no room for a jump to the rewritten code: called by a pointer, ${narrow === 1 ? "it runs as it is" : "they run as they are"}.`,
    );
  const bare = files.flatMap((file) => {
    const bytes = bytesLeftAlone(file);
    return bytes === 0 ? [] : [{ name: basename(file.original), bytes }];
  });
  if (bare.length > 0) {
    const names = bare
      .sort((a, b) => b.bytes - a.bytes)
      .map(({ name, bytes }) => `${name} (${groupDigits(bytes)} bytes)`);
    sentences.push(
      `Code that .eh_frame does not describe ran as it is, without being counted: ${listed(names)}.`,
    );
  }
  const { found, made } = later;
  if (found.length > 0) sentences.push(`${laterInWords(found, isRemembered)}: ${namesOf(found)}.`);
  if (made.length > 0)
    sentences.push(
      `${counted(made.length, "file", "files")} that ${made.length === 1 ? "was" : "were"} written meanwhile ran as ${made.length === 1 ? "it is" : "they are"}: ${namesOf(made)}.`,
    );
  return sentences;
}

/** Returns the bytes of a rewritten file's code that are in no known function. */
export function bytesLeftAlone({ facts }: RewrittenFile): number {
  return "refused" in facts ? 0 : facts.withoutFrames;
}

export function laterInWords({ length }: readonly string[], isRemembered: boolean): string {
  const many = length !== 1;
  const next = isRemembered ? `the next run has ${many ? "them" : "it"}` : "they cannot be remembered";
  return `${counted(length, "file", "files")} that ${many ? "were" : "was"} loaded later ran as ${many ? "they are" : "it is"}; ${next}`;
}

/** Returns a sentence about started programs with another dynamic linker, or none. */
export function othersInWords(paths: readonly string[]): string {
  const [were, have, they] = paths.length === 1 ? ["was", "has", "it"] : ["were", "have", "they"];
  return `${counted(paths.length, "program", "programs")} that ${were} started (${namesOf(paths)}) ${have} another dynamic linker or none: where ${they} ${have} read files of this run, ${they} ${have} found rewritten ones`;
}

export function readInWords(paths: readonly string[], isRemembered: boolean): string {
  const many = paths.length !== 1;
  const next = isRemembered
    ? `the next run has ${many ? "these files as they are" : "that file as it is"}`
    : "that cannot be remembered";
  return `the program has read its own code as data (${namesOf(paths)}), where memshade had put jumps into it: what it made of that may be wrong; ${next}`;
}

export function namesOf(paths: readonly string[]): string {
  return listed(paths.map((path) => basename(path)));
}

function listed(names: readonly string[]): string {
  const rest = names.length - FILES_NAMED;
  return names.slice(0, FILES_NAMED).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}
