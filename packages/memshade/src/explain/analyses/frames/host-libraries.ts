import type { HostCode } from "../../../profile/model/heap-profile.ts";

/** What stands for callers that nobody asked for. */
const NOT_ASKED = "callers not asked";
const NOT_KNOWN = "callers not known";
const NODE = "Node.js";
const ENGINE = "JavaScript's library";

const PACKAGE = /(?:^|[\\/])node_modules[\\/](?!.*[\\/]node_modules[\\/])((?:@[^\\/]+[\\/])?[^\\/]+)/;

/** The library that a frame of the host is of, in words; undefined for the program's own. */
export function libraryOfHost(host: HostCode, file: string | undefined): string | undefined {
  if (host === "left-out") return NOT_ASKED;
  if (host === "unknown") return NOT_KNOWN;
  if (file === undefined) return ENGINE;
  if (file.startsWith("node:")) return NODE;
  return packageOf(file) ?? (host === "script" ? undefined : `${host.slice("glue: ".length)}'s glue`);
}

/** The npm package that a file is part of, in words; undefined for files of the program. */
export function packageOf(file: string): string | undefined {
  const name = PACKAGE.exec(file)?.[1];
  return name === undefined ? undefined : `package ${name.replaceAll("\\", "/")}`;
}
