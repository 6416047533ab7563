import { readFileSync } from "node:fs";
import type { Workload } from "./programs.ts";
import { findWorkload } from "./programs.ts";
import { ModuleSubstitution, type Variant } from "./substitution.ts";

/** Options with which a workload's modules are rewritten: the file's name and its glue, as `memshade node` finds them. */
export function glueOptions(workload: Workload): (bytes: Uint8Array) => { name: string; glue?: string } {
  const files = workload
    .files()
    .map(({ wasm, glue }) => ({ wasm, glue, bytes: wasm === undefined ? undefined : readFileSync(wasm) }));
  return (bytes) => {
    const file =
      files.find((candidate) => candidate.bytes?.equals(bytes)) ??
      files.find((candidate) => candidate.bytes === undefined);
    const name = (file?.wasm ?? "module.wasm").split("/").at(-1) as string;
    return file?.glue === undefined ? { name } : { name, glue: readFileSync(file.glue, "utf8") };
  };
}

/** Result of a workload in one variant: its return value, or the exception. */
export async function resultOf(
  workload: Workload,
  substitution: ModuleSubstitution,
  variant: Variant,
  scale: "full" | "small",
): Promise<string> {
  substitution.variant = variant;
  substitution.install();
  try {
    const session = await workload.load();
    return await session.run(scale);
  } catch (error) {
    return `threw ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  } finally {
    substitution.uninstall();
  }
}

/** `node compare.ts NAME small|full VARIANT…` prints the results as one line of JSON. */
if (import.meta.main) {
  const [name, scale, ...variants] = process.argv.slice(2) as [string, "full" | "small", ...Variant[]];
  const workload = findWorkload(name);
  if (workload === undefined) throw new Error(`no workload is called ${name}`);
  const substitution = new ModuleSubstitution(glueOptions(workload));
  const results: Record<string, string> = {};
  for (const variant of variants) results[variant] = await resultOf(workload, substitution, variant, scale);
  console.log(JSON.stringify({ results, modules: substitution.seen.map((module) => module.sizes) }));
}
