import { printable } from "../../../profile/model/printable.ts";
import { MODULE_SPAN, type WasteFrame, type WasteIp } from "../../../profile/model/waste.ts";
import { bareName as bareFunctionName, mainName, withoutSignature } from "./function-names.ts";
import { ownPlace } from "./own-place.ts";

/**
 * Formats a place as `parse (parse.c:88)`, or by its function and offset if no line is known. Library code inlined into
 * the program, or called by it, follows the program's place: `load (load.cc:7) via std::vector::push_back`.
 */
export function placeOf(ips: readonly WasteIp[]): string {
  const [ip] = ips;
  // The host requested the block from the program's allocator.
  if (ip === undefined) return "a call from outside";
  const own = ownPlace(ips);
  if (own === undefined || own.frame === ip) return frameText(ip, ip.address);
  const address = own.frame === ips[own.depth] ? ips[own.depth]?.address : undefined;
  const via = own.depth === 0 ? ip : own.via;
  return `${frameText(own.frame, address)} via ${bareName(via?.function ?? "a library")}`;
}

/** Returns a function's bare name, safe to print. */
export function bareName(name: string): string {
  return mainName(bareFunctionName(printable(name)));
}

/** Returns a name for a list of callers: without parameters and template arguments. */
export function compactName(name: string): string {
  return withoutSignature(printable(name));
}

/** Returns a compiler's name without tags and versions of the standard library. */
export function shortName(name: string): string {
  return compactName(name.replace(/\[abi:\w+\]/g, "")).replace(/\bstd::__\d+::/g, "std::");
}

/** Formats a place itself, even in a library, without its line: `memset`, `func[3] (+0x1f2)`. */
export function siteName(ip: WasteIp): string {
  return frameText(
    { function: ip.function, module: ip.module },
    ip.file === undefined ? ip.address : undefined,
  );
}

/** Returns a function's bare name, with its module if the name alone is ambiguous. */
export function functionInWords({
  function: name,
  module,
}: {
  readonly function?: string | undefined;
  readonly module?: string | undefined;
}): string {
  const own = name === undefined ? "a function without a name" : bareName(name);
  return module === undefined ? own : `${own} of ${printable(module)}`;
}

/**
 * Formats the offset of an address in the code of its module, `+0x1a2b`. Addresses of a recording include the module's
 * index.
 */
export function codeOffset(address: number): string {
  return `+0x${(address % MODULE_SPAN).toString(16)}`;
}

/** Formats `parse.c:88`, without folders, or `near parse.c:88`; undefined if no file is known. */
export function shortPlace({
  file,
  line,
  approximate,
}: {
  file?: string | undefined;
  line?: number | undefined;
  approximate?: boolean | undefined;
}): string | undefined {
  if (file === undefined) return undefined;
  // A folder's page on the web has a path that ends with a slash.
  const named = file.replace(/[/\\]+$/, "");
  const base = named.slice(Math.max(named.lastIndexOf("/"), named.lastIndexOf("\\")) + 1);
  return line === undefined || line === 0 ? base : `${approximate ? "near " : ""}${base}:${line}`;
}

function frameText(
  frame: (WasteFrame & { module?: string | undefined }) | undefined,
  address: number | undefined,
): string {
  const own = frame?.function === undefined ? "unknown code" : mainName(shortName(frame.function));
  const name = frame?.module === undefined ? own : `${own} of ${frame.module}`;
  const place = frame && shortPlace(frame);
  if (place !== undefined) return `${name} (${place})`;
  return address === undefined || address % MODULE_SPAN === 0 ? name : `${name} (${codeOffset(address)})`;
}
