/** URL of the module `name` beside `from`, with the extension the sources or the build have. */
export function siblingModule(from: string, name: string): URL {
  return new URL(`${name}${from.endsWith(".ts") ? ".ts" : ".js"}`, from);
}
