import { decodeModule } from "../../code/wasm/index.ts";

/** Digits of a build id that tell the modules of one program apart. */
const DIGITS = 6;
/** Exports by which a reader recognizes a module. */
const EXPORTS_TOLD = 5;

/** A name that other modules may have, with the beginning of its module's build id: `hash-wasm#1f8ea2`. */
export function nameOfBuild(name: string, buildId: string): string {
  return `${name}#${buildId.slice(0, DIGITS)}`;
}

/** The names of a run's modules; different modules that came with one name get their build ids behind it. */
export function distinctNames(modules: readonly { name: string; buildId: string }[]): string[] {
  const builds = new Map<string, Set<string>>();
  for (const { name, buildId } of modules) builds.set(name, (builds.get(name) ?? new Set()).add(buildId));
  return modules.map(({ name, buildId }) => (builds.get(name)!.size > 1 ? nameOfBuild(name, buildId) : name));
}

/** The first functions that a module exports but for those of its toolchain. */
export function tellingExports(original: Uint8Array): string[] {
  const names = decodeModule(original)
    .exports.filter(({ kind, name }) => kind === "function" && !/^_*(?:start|initialize)$|^__/.test(name))
    .map(({ name }) => name);
  return names.slice(0, EXPORTS_TOLD);
}
