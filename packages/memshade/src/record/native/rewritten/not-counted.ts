import { basename } from "node:path";
import { counted, groupDigits } from "../../../profile/model/counted.ts";
import type { LaterFiles } from "./later-files.ts";
import { isRewritten, type RewrittenFile } from "./rewrite-files.ts";
import { leftAloneCount } from "./rewritten-cache.ts";

/** Largest part of the functions whose accesses are not worth a sentence. */
const FEW = 1 / 100;

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
      `Accesses are not counted in ${counted(refused.length, "file", "files")} that could not be instrumented: ${listed(refused)}.`,
    );
  const facts = files.filter(isRewritten).flatMap(({ facts: one }) => ("refused" in one ? [] : [one]));
  const unchanged = facts.reduce((sum, { leftAlone }) => sum + leftAloneCount(leftAlone), 0);
  const functions = facts.reduce((sum, each) => sum + each.functions, unchanged);
  if (unchanged > functions * FEW)
    sentences.push(
      `Accesses are not counted in ${groupDigits(unchanged)} of ${groupDigits(functions)} functions, which could not be instrumented: stubs, signal frames, and code that cannot be decoded or is also data.`,
    );
  const narrow = facts.reduce((sum, { unpatched }) => sum + unpatched.functions, 0);
  if (narrow > functions * FEW)
    sentences.push(
      `Accesses are not counted in ${groupDigits(narrow)} of ${groupDigits(functions)} functions when they are called through a pointer: they have no room for a jump to the instrumented code.`,
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
      `Accesses are not counted in code without unwind information (.eh_frame): ${listed(names)}.`,
    );
  }
  const { found, made } = later;
  if (found.length > 0) sentences.push(`${laterInWords(found, isRemembered)}: ${namesOf(found)}.`);
  if (made.length > 0)
    sentences.push(
      `Accesses are not counted in ${counted(made.length, "file", "files")} that ${made.length === 1 ? "was" : "were"} written during the run: ${namesOf(made)}.`,
    );
  return sentences;
}

/** Returns the bytes of a rewritten file's code that are in no known function. */
export function bytesLeftAlone({ facts }: RewrittenFile): number {
  return "refused" in facts ? 0 : facts.withoutFrames;
}

export function laterInWords({ length }: readonly string[], isRemembered: boolean): string {
  const many = length !== 1;
  const next = isRemembered ? `the next run counts ${many ? "them" : "it"}` : "the next run neither";
  return `accesses are not counted in ${counted(length, "file", "files")} that ${many ? "were" : "was"} loaded later (dlopen); ${next}`;
}

/** Returns a sentence about started programs with another dynamic linker, or none. */
export function othersInWords(paths: readonly string[]): string {
  const [have, they] = paths.length === 1 ? ["has", "it"] : ["have", "they"];
  return `${counted(paths.length, "child program", "child programs")} (${namesOf(paths)}) ${have} another dynamic linker or none: ${they} may have read instrumented files in the place of the original ones`;
}

export function readInWords(paths: readonly string[], isRemembered: boolean): string {
  const many = paths.length !== 1;
  const next = isRemembered
    ? `the next run leaves ${many ? "these files" : "this file"} unchanged`
    : "the next run will do the same";
  return `the program has read its own code as data (${namesOf(paths)}), into which memshade had put jumps: its results may be wrong; ${next}`;
}

export function namesOf(paths: readonly string[]): string {
  return listed(paths.map((path) => basename(path)));
}

function listed(names: readonly string[]): string {
  const rest = names.length - FILES_NAMED;
  return names.slice(0, FILES_NAMED).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}
