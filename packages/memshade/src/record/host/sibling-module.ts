/**
 * Returns the URL of the module `name` beside `from`, with the extension of the sources or of the build.
 */
export function siblingModule(from: string, name: string): URL {
  return new URL(`${name}${from.endsWith(".ts") ? ".ts" : ".js"}`, from);
}
