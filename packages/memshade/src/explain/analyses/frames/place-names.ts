import { printable } from "../../../profile/model/printable.ts";
import { MODULE_SPAN, type WasteFrame, type WasteIp } from "../../../profile/model/waste.ts";
import { bareName as bareFunctionName, mainName, withoutSignature } from "./function-names.ts";
import { ownPlace } from "./own-place.ts";

/**
 * A place as `parse (parse.c:88)`, by its function and offset where no line is known. Code of a library that is inlined into
 * the program, or that the program is known to have called, stands behind the program's place:
 * `load (load.cc:7) via std::vector::push_back`.
 */
export function placeOf(ips: readonly WasteIp[]): string {
  const [ip] = ips;
  // Blocks that the host asks the program's allocator for.
  if (ip === undefined) return "a call from outside";
  const own = ownPlace(ips);
  if (own === undefined || own.frame === ip) return frameText(ip, ip.address);
  const address = own.frame === ips[own.depth] ? ips[own.depth]?.address : undefined;
  const via = own.depth === 0 ? ip : own.via;
  return `${frameText(own.frame, address)} via ${bareName(via?.function ?? "a library")}`;
}

/** A function's bare name, safe to print. */
export function bareName(name: string): string {
  return mainName(bareFunctionName(printable(name)));
}

/** The name as it stands in a list of callers: without parameters and template arguments. */
export function compactName(name: string): string {
  return withoutSignature(printable(name));
}

/** A name as the compiler writes it, without tags and versions of the standard library. */
export function shortName(name: string): string {
  return compactName(name.replace(/\[abi:\w+\]/g, "")).replace(/\bstd::__\d+::/g, "std::");
}

/** A place itself, also where it is in a library, without its line: `memset`, `func[3] (+0x1f2)`. */
export function siteName(ip: WasteIp): string {
  return frameText(
    { function: ip.function, module: ip.module },
    ip.file === undefined ? ip.address : undefined,
  );
}

/** A function's bare name, with its module where the name alone would not tell. */
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

/** `+0x1a2b`: where an address of a recording, which says the module too, is in the code of its module. */
export function codeOffset(address: number): string {
  return `+0x${(address % MODULE_SPAN).toString(16)}`;
}

/** `parse.c:88`, without the folders, or `near parse.c:88`; undefined where no file is known. */
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
  // The page of a folder on the web has no name of its own.
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
