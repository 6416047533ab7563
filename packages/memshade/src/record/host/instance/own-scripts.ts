/** Address of this file. Undefined if the host gives none, as workerd, or if a bundler has put the file into a script. */
const ADDRESS = import.meta.url as string | undefined;
/** Folder of this package's own code: `src/`, or `dist/`, whose files lie side by side. */
const OWN_FOLDER =
  ADDRESS === undefined ? undefined : new URL(ADDRESS.endsWith(".ts") ? "../../../" : ".", ADDRESS).href;
const OWN_PATH = OWN_FOLDER?.startsWith("file://")
  ? decodeURIComponent(new URL(OWN_FOLDER).pathname)
  : OWN_FOLDER;

/** True if a script belongs to this package, by its address or path. */
export function isOwnScript(script: string): boolean {
  return OWN_FOLDER !== undefined && (script.startsWith(OWN_FOLDER) || script.startsWith(OWN_PATH!));
}
