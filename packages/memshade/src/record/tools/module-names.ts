import { decodeModule } from "../../code/wasm/index.ts";

/** Digits of a build id that distinguish the modules of one program. */
const DIGITS = 6;
const EXPORTS_TOLD = 5;

/** Returns a name that includes the start of the module's build id: `hash-wasm#1f8ea2`. */
export function nameOfBuild(name: string, buildId: string): string {
  return `${name}#${buildId.slice(0, DIGITS)}`;
}

/** Returns the names of a run's modules. If different modules have one name, their build ids are added. */
export function distinctNames(modules: readonly { name: string; buildId: string }[]): string[] {
  const builds = new Map<string, Set<string>>();
  for (const { name, buildId } of modules) builds.set(name, (builds.get(name) ?? new Set()).add(buildId));
  return modules.map(({ name, buildId }) => (builds.get(name)!.size > 1 ? nameOfBuild(name, buildId) : name));
}

/**
 * Returns the first exported functions of a module, without those of its toolchain, by which a reader
 * recognizes it.
 */
export function tellingExports(original: Uint8Array): string[] {
  const names = decodeModule(original)
    .exports.filter(({ kind, name }) => kind === "function" && !/^_*(?:start|initialize)$|^__/.test(name))
    .map(({ name }) => name);
  return names.slice(0, EXPORTS_TOLD);
}
