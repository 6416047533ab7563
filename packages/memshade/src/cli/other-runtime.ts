import { basename } from "node:path";
import { UserError } from "../ground/bytes/errors.ts";

const RUNTIMES: Readonly<Record<string, string>> = { bun: "Bun", deno: "Deno", workerd: "workerd" };

const INSTEAD = "profile() and the loader record in it (docs/loader.md)";

/**
 * Rejects a runtime that pretends to be Node.
 *
 * @param verb the command that needs Node @param unable names of unsupported runtimes
 * @throws UserError
 */
export function assertNode(
  verb: string,
  unable: readonly string[],
  versions: Readonly<Record<string, string | undefined>> = process.versions,
): void {
  const runtime = unable.find((name) => versions[name] !== undefined);
  if (runtime === undefined) return;
  throw new UserError(
    `this is ${RUNTIMES[runtime]} ${versions[runtime]}, and ${verb} needs Node so far: start it by npx memshade; or ${INSTEAD}`,
  );
}

/**
 * Returns a sentence for a native program that runs scripts: the program is recorded, the scripts' modules
 * are not.
 */
export function runtimeInWords(program: string): string | undefined {
  const name = RUNTIMES[basename(program)];
  if (name === undefined) return undefined;
  return `what ${name} itself allocates is recorded, and not the memory of WebAssembly modules that it runs: ${INSTEAD}`;
}
