import { decodeModule } from "../wasm/index.ts";

/** Digits of the build id behind a name that several modules have. */
const DIGITS = 6;
/** Exports by which a reader recognizes a module. */
const EXPORTS_TOLD = 5;

/** The names of a run's modules; different modules that came with one name get their build ids behind it. */
export function distinctNames(modules: readonly { name: string; buildId: string }[]): string[] {
  const builds = new Map<string, Set<string>>();
  for (const { name, buildId } of modules) builds.set(name, (builds.get(name) ?? new Set()).add(buildId));
  return modules.map(({ name, buildId }) =>
    builds.get(name)!.size > 1 ? `${name}#${buildId.slice(0, DIGITS)}` : name,
  );
}

/** The first functions that a module exports but for those of its toolchain. */
export function tellingExports(original: Uint8Array): string[] {
  const names = decodeModule(original)
    .exports.filter(({ kind, name }) => kind === "function" && !/^_*(?:start|initialize)$|^__/.test(name))
    .map(({ name }) => name);
  return names.slice(0, EXPORTS_TOLD);
}
