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

/** A compact name without what stands for template arguments; in Rust they may be of their own, as in `signed::<…>`. */
export function withoutEllipses(name: string): string {
  return name.replace(/(?:::)?<…>/g, "");
}

/** The name as it stands in a list of callers: without parameters and template arguments. */
export function compactName(name: string): string {
  const short = replaceBrackets(replaceBrackets(printable(name), "(", ")"), "<", ">");
  return short.replace(/(?<!operator)\(…?\)( const| &&?| \[.*\])*$/, "");
}

/** What has brackets that are none; at one position. */
const VERBATIM = /operator *(\(\)|<=>|<<=?|>>=?|->\*?|<=?|>=?)|\(anonymous namespace\)|->/y;

/**
 * Replaces what stands between outermost brackets by "…". Left alone: `(anonymous namespace)`, brackets in an
 * operator's name, a function's own `->`, and a leading `<T as Trait>`, where the inner brackets are replaced.
 */
function replaceBrackets(name: string, open: "(" | "<", close: ")" | ">"): string {
  const keptDepth = open === "<" && name.startsWith("<") ? 1 : 0;
  let result = "";
  let depth = 0;
  for (let position = 0; position < name.length; ) {
    VERBATIM.lastIndex = position;
    const piece = VERBATIM.exec(name)?.[0] ?? name[position]!;
    position += piece.length;
    const isHidden = depth > keptDepth;
    if (piece === open) {
      depth += 1;
      if (depth === keptDepth + 1) {
        result += name[position] === close ? `${open}${close}` : `${open}…${close}`;
        continue;
      }
    } else if (piece === close && depth > 0) {
      depth -= 1;
      if (isHidden) {
        continue;
      }
    }
    if (!isHidden) {
      result += piece;
    }
  }
  // Unbalanced brackets mean that this is no such name.
  return depth === 0 ? result : name;
}

/** The name without its first, first two, … outer namespaces. */
function withoutNamespaces(name: string): string[] {
  if (name.startsWith("<")) {
    return [];
  }
  const parts = name.split("::");
  return parts.slice(1).map((_, dropped) => `…${parts.slice(dropped + 1).join("::")}`);
}
