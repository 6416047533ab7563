// Notices of the packages whose code becomes part of dist/, as their licences require.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** A package whose code was bundled, as its own files describe it. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** Texts of its licence and notice files. */
  readonly texts: readonly string[];
}

/** Rolldown's description of an output file. */
interface BundledFile {
  readonly type: string;
  readonly moduleIds?: readonly string[];
}

const NOTICES = fileURLToPath(new URL("../THIRD-PARTY-NOTICES", import.meta.url));
const MODULES = "/node_modules/";
/** Prefix of the modules that rolldown adds itself. */
const OF_ROLLDOWN = "\0rolldown/";

const folders = new Set<string>();

/** Records the packages whose code is in bundled files. */
export function noteBundled(output: readonly BundledFile[]): void {
  for (const folder of packageFolders(output.flatMap(({ moduleIds = [] }) => moduleIds))) folders.add(folder);
}

/** Folders of the packages that contain the modules. */
export function packageFolders(modules: readonly string[]): string[] {
  const found = modules.flatMap((module) => {
    if (module.startsWith(OF_ROLLDOWN)) return [installed("rolldown")];
    const at = module.lastIndexOf(MODULES);
    if (at < 0) return [];
    const [first, second] = module.slice(at + MODULES.length).split("/");
    const name = first!.startsWith("@") ? `${first}/${second}` : first!;
    // Modules that a plugin derived from others begin with a 0 byte.
    return [module.slice(0, at + MODULES.length).replace(/^\0/, "") + name];
  });
  return [...new Set(found)];
}

/** @throws Error if a package has no licence text */
export function readPackage(folder: string): BundledPackage {
  const { name, version, license } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  ) as BundledPackage;
  const texts = readdirSync(folder)
    .filter((file) => /^(?:licen[cs]e|copying|notice|third-party-licen[cs]e)(?:[.-]|$)/i.test(file))
    .sort()
    .map((file) => readFileSync(join(folder, file), "utf8").trim());
  if (texts.length === 0) throw new Error(`${name} is bundled and has no text of its licence`);
  return { name, version, license, texts };
}

/** The notices as text, ordered by name. */
export function noticesText(packages: readonly BundledPackage[]): string {
  const sorted = packages.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const parts = sorted.map(
    ({ name, version, license, texts }) => `${name} ${version} (${license})\n\n${texts.join("\n\n")}\n`,
  );
  const line = `\n${"-".repeat(80)}\n\n`;
  return ["The files of memshade contain code of these packages.\n", ...parts].join(line);
}

/** Writes THIRD-PARTY-NOTICES for all bundled packages, and for AssemblyScript, whose library is compiled into the code inside programs. */
export function writeNotices(): void {
  const packages = [...folders, installed("assemblyscript")].map(readPackage);
  writeFileSync(NOTICES, noticesText(packages));
}

function installed(name: string): string {
  let folder = dirname(fileURLToPath(import.meta.resolve(name)));
  while (!folder.endsWith(`${MODULES}${name}`)) folder = dirname(folder);
  return folder;
}
