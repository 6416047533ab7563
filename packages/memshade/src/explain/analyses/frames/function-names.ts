/*
 * Names of functions as demanglers write them: `void std::__1::sort<int*>(int*, int*)`. What stands in brackets says
 * what a function takes, never whose it is.
 */

/** What has brackets that are none; at one position. Compilers of Kotlin and Java call functions `Node.<init>`. */
const VERBATIM = /operator *(\(\)|<=>|<<=?|>>=?|->\*?|<=?|>=?)|\(anonymous namespace\)|->|(?<=\.)<[\w-]+>/y;

/**
 * Replaces what stands between outermost brackets by "…". Left alone: `(anonymous namespace)`, brackets in an
 * operator's name, a function's own `->`, `.<init>`, and a leading `<T as Trait>`, where the inner brackets are replaced.
 */
export function replaceBrackets(name: string, open: "(" | "<", close: ")" | ">"): string {
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
      if (isHidden) continue;
    }
    if (!isHidden) result += piece;
  }
  // Unbalanced brackets mean that this is no such name.
  return depth === 0 ? result : name;
}

/** What an export of an interface takes and returns, as generators of bindings write it: `ruby-init: func(args: list<string>) -> ()`. */
const INTERFACE = /: func\(.*$/s;

/**
 * A name without parameters; what stood between brackets of templates is `<…>`. A name that is brackets and nothing else, as
 * Valgrind's `(below main)`, is the name.
 */
export function withoutSignature(name: string): string {
  const short = replaceBrackets(replaceBrackets(name.replace(INTERFACE, ""), "(", ")"), "<", ">");
  return short.replace(/(?<!operator)\(…?\)( const| &&?| \[.*\])*$/, "") || name;
}

/** The same without what stands for template arguments; in Rust they may be of their own, as in `signed::<…>`. */
export function withoutEllipses(name: string): string {
  return name.replace(/(?:::)?<…>/g, "");
}

/**
 * A function's name without arguments of templates, tags of the ABI and inline namespaces of versions, and without the type
 * that instances of C++ templates return.
 */
export function bareName(name: string): string {
  const short = withoutSignature(name.replace(/\[abi:\w+\]/g, "")).replace(/\bstd::__\d+::/g, "std::");
  const bare = withoutEllipses(short).trimEnd();
  // Only names with parameters have a type in front; spaces in others (`store externref shim`) are their own.
  return /\)( const| &&?| \[.*\])*$/.test(name.replace(INTERFACE, "")) ? withoutReturnType(bare) : bare;
}

/** Linkers' names of a `main`, with and without parameters. */
const MAINS: ReadonlySet<string> = new Set(["__main_argc_argv", "__main_void", "__original_main"]);

/** The name that a program's main function has in its source. */
export function mainName(name: string): string {
  return MAINS.has(name) ? "main" : name;
}

/** Without what stands before the last space outside of brackets and of an operator's name. */
function withoutReturnType(name: string): string {
  const end = name.search(/\boperator\b/);
  let start = 0;
  let depth = 0;
  for (let i = 0; i < (end < 0 ? name.length : end); i++)
    if ("(<{[".includes(name[i]!)) depth++;
    else if (")>}]".includes(name[i]!)) depth--;
    else if (name[i] === " " && depth === 0) start = i + 1;
  return name.slice(start);
}
