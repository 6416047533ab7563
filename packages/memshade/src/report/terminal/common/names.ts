import {
  replaceBrackets,
  withoutEllipses,
  withoutSignature,
} from "../../../analyses/frames/function-names.ts";
import { cutMiddle, displayWidth, printable } from "./text.ts";

/**
 * Function names of C++ and Rust, made to fit. What tells functions apart is kept longest: first the
 * parameters go, then template arguments, then outer namespaces, last the middle.
 *
 *     std::vector<int, std::allocator<int> >::push_back(int const&)
 *     std::vector<int, std::allocator<int> >::push_back(…)
 *     std::vector<…>::push_back(…)
 *     std::vector<…>::push_back
 *     std::vector::push_back
 *     …vector::push_back
 */
export function shortenName(name: string, width: number): string {
  const safe = printable(name);
  const withoutParameters = replaceBrackets(safe, "(", ")");
  const withoutArguments = replaceBrackets(withoutParameters, "<", ">");
  const compact = compactName(name);
  const bare = withoutEllipses(compact);
  const candidates = [
    safe,
    withoutParameters,
    withoutArguments,
    compact,
    ...(bare === "" ? [] : [bare, ...withoutNamespaces(bare)]),
  ];
  return (
    candidates.find((candidate) => displayWidth(candidate) <= width) ?? cutMiddle(candidates.at(-1)!, width)
  );
}

/** The name as it stands in a list of callers: without parameters and template arguments. */
export function compactName(name: string): string {
  return withoutSignature(printable(name));
}

/** A name of Kotlin or Java: `kotlin.collections.ArrayList.<init>`. */
const PACKAGED = /^[\w$]+(\.([\w$]+|<[\w-]+>))+$/;

/** The name without its first, first two, … outer namespaces. */
function withoutNamespaces(name: string): string[] {
  if (name.startsWith("<")) {
    return [];
  }
  const separator = PACKAGED.test(name) ? "." : "::";
  const parts = name.split(separator);
  return parts.slice(1).map((_, dropped) => `…${parts.slice(dropped + 1).join(separator)}`);
}
