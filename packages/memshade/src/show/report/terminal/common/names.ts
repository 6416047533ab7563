import { replaceBrackets, withoutEllipses } from "../../../../explain/analyses/frames/function-names.ts";
import { compactName } from "../../../../explain/analyses/frames/place-names.ts";
import { cutMiddle, displayWidth, printable, takeEnd } from "./text.ts";

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

/** In fewer columns, a name alone is shown. */
const LEAST_PLACED = 12;
/** A place behind a function, and the part of a library that it goes through: `load (load.cc:7) via std::vector::push_back`. */
const PLACED = /^(.*) (\([^()]*\))(?: via .*)?$/;

/**
 * A function with its place, made to fit. The place tells rows of one function apart, so it is kept, and the name is shortened; of a long
 * place, the end is kept, which has the line. What it goes through is left out first.
 *
 *     load (load.cc:7) via std::vector::push_back
 *     load (load.cc:7)
 *     __memset_avx512_un…rms (…erms.S:307)
 */
export function shortenPlace(text: string, width: number): string {
  const safe = printable(text);
  const [, name, place] = PLACED.exec(safe) ?? [];
  const isShort = displayWidth(safe) <= width || width < LEAST_PLACED;
  if (isShort || name === undefined || place === undefined) return shortenName(text, width);
  const whole = shortenName(name, Math.max(width - displayWidth(place) - 1, Math.ceil(width / 2)));
  const room = width - displayWidth(whole) - 1;
  if (displayWidth(place) <= room) return `${whole} ${place}`;
  return `${whole} (…${takeEnd(place, room - 2)}`;
}

/** A name of Kotlin or Java: `kotlin.collections.ArrayList.<init>`. */
const PACKAGED = /^[\w$]+(\.([\w$]+|<[\w-]+>))+$/;

/** The name without its first, first two, … outer namespaces. */
function withoutNamespaces(name: string): string[] {
  if (name.startsWith("<")) return [];
  const separator = PACKAGED.test(name) ? "." : "::";
  const parts = name.split(separator);
  return parts.slice(1).map((_, dropped) => `…${parts.slice(dropped + 1).join(separator)}`);
}
