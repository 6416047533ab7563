import { basename } from "node:path";
import { UserError } from "../ground/bytes/errors.ts";

/** Runtimes of scripts other than Node, by the names of their programs. */
const RUNTIMES: Readonly<Record<string, string>> = { bun: "Bun", deno: "Deno", workerd: "workerd" };

const INSTEAD = "profile() and the loader record in it (docs/loader.md)";

/**
 * Refuses to go on under another runtime than Node, which calls itself Node.
 *
 * @param verb what needs Node @param unable names of those that do not do
 * @throws UserError
 */
export function assertNode(
  verb: string,
  unable: readonly string[],
  versions: Readonly<Record<string, string | undefined>> = process.versions,
): void {
  const found = unable.find((name) => versions[name] !== undefined);
  if (found === undefined) return;
  throw new UserError(
    `this is ${RUNTIMES[found]} ${versions[found]}, and ${verb} needs Node so far: start it by npx memshade; or ${INSTEAD}`,
  );
}

/** Sentence about a native program that runs scripts: it is recorded, the modules of the scripts are not. */
export function runtimeInWords(program: string): string | undefined {
  const name = RUNTIMES[basename(program)];
  if (name === undefined) return undefined;
  return `what ${name} itself allocates is recorded, and not the memory of WebAssembly modules that it runs: ${INSTEAD}`;
}
