/** Folder of this package's own code: `src/`, or `dist/`, whose files lie side by side. */
const OWN_FOLDER = new URL(import.meta.url.endsWith(".ts") ? "../../" : ".", import.meta.url).href;
const OWN_PATH = OWN_FOLDER.startsWith("file://")
  ? decodeURIComponent(new URL(OWN_FOLDER).pathname)
  : OWN_FOLDER;

/** Whether a script, by its address or path, is one of this package. */
export function isOwnScript(script: string): boolean {
  return script.startsWith(OWN_FOLDER) || script.startsWith(OWN_PATH);
}
