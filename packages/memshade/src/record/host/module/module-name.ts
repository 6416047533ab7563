import { buildId, decodeModule, readNames } from "../../../code/wasm/index.ts";
import { nameOfBuild } from "../../tools/module-names.ts";

/** Origin of a module's bytes, as far as it is known. */
export interface ModuleOrigin {
  path?: string | null | undefined;
  address?: string | undefined;
  /** Scripts that led to its compilation, innermost first. */
  scripts?: readonly string[] | undefined;
}

/** Space in a table beside the figures and a function's name. */
const LONGEST_OWN_NAME = 20;

/**
 * Returns a module's name in reports: that of its file or address. A module compiled from bytes is named by its name
 * section, else by the package or script that compiled it. The start of its build id follows, as in `hash-wasm#1f8ea2`.
 * The name is therefore the same in every run, and unique.
 * @throws FormatError for bytes without a file and address that are no module
 */
export function moduleName(
  bytes: Uint8Array,
  { path, address, scripts = [] }: ModuleOrigin,
  sha256?: (bytes: Uint8Array) => Uint8Array,
): string {
  const given = path ? lastPart(path) : nameFromAddress(address);
  if (given !== undefined) return given;
  const module = decodeModule(bytes);
  const ownName = lastPart(readNames(module).module ?? "")
    .replace(/\.wasm$/, "")
    .replace(/[^\w.$@-]+/g, "_");
  const hint = ownName !== "" ? ownName : (compiledBy(scripts) ?? "module");
  return nameOfBuild(hint.slice(0, LONGEST_OWN_NAME), buildId(module, sha256));
}

/** Returns the last part of an address's path. `data:` and `blob:` addresses contain no name. */
function nameFromAddress(address: string | undefined): string | undefined {
  if (address === undefined || address === "") return undefined;
  try {
    const { protocol, pathname } = new URL(address);
    return protocol === "data:" || protocol === "blob:" ? undefined : lastPart(pathname) || undefined;
  } catch {
    return undefined;
  }
}

/** Returns the package of the innermost script, else the script. */
function compiledBy(scripts: readonly string[]): string | undefined {
  const script = scripts.find((name) => !name.startsWith("node:") && /[/\\]/.test(name));
  if (script === undefined) return undefined;
  const parts = script.split(/[/\\]/);
  const [scope, name] = parts.slice(parts.lastIndexOf("node_modules") + 1);
  if (parts.includes("node_modules") && scope !== undefined)
    return scope.startsWith("@") && name !== undefined ? name : scope;
  return lastPart(script).replace(/\.[cm]?[jt]sx?$/, "") || undefined;
}

function lastPart(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}
