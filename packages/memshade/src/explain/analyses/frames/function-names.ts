/*
 * Function names in the form of demanglers: `void std::__1::sort<int*>(int*, int*)`. The text in brackets describes the
 * arguments and never determines the owner of the code.
 */

/**
 * Text with bracket characters that are no brackets, matched at one position. Compilers of Kotlin and Java name
 * functions `Node.<init>`.
 */
const VERBATIM = /operator *(\(\)|<=>|<<=?|>>=?|->\*?|<=?|>=?)|\(anonymous namespace\)|->|(?<=\.)<[\w-]+>/y;

/**
 * Replaces the text between outermost brackets by "…". Unchanged are: `(anonymous namespace)`, brackets in an
 * operator's name, a function's own `->`, and `.<init>`. In a leading `<T as Trait>` only the inner brackets are
 * replaced.
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
  // Unbalanced brackets mean that the text is not such a name.
  return depth === 0 ? result : name;
}

/** Signature of an interface's export, as binding generators write it: `ruby-init: func(args: list<string>) -> ()`. */
const INTERFACE = /: func\(.*$/s;

/**
 * Removes the parameters of a name and writes template arguments as `<…>`. A name of brackets alone, such as Valgrind's
 * `(below main)`, stays.
 */
export function withoutSignature(name: string): string {
  const short = replaceBrackets(replaceBrackets(name.replace(INTERFACE, ""), "(", ")"), "<", ">");
  return short.replace(/(?<!operator)\(…?\)( const| &&?| \[.*\])*$/, "") || name;
}

/** Removes the placeholders of template arguments, including Rust's separate ones, as in `signed::<…>`. */
export function withoutEllipses(name: string): string {
  return name.replace(/(?:::)?<…>/g, "");
}

/**
 * Removes template arguments, ABI tags, inline namespaces of versions, and the return type of C++ template instances.
 */
export function bareName(name: string): string {
  const short = withoutSignature(name.replace(/\[abi:\w+\]/g, "")).replace(/\bstd::__\d+::/g, "std::");
  const bare = withoutEllipses(short).trimEnd();
  // Only names with parameters have a type before them; spaces in other names (`store externref shim`) belong to the
  // name.
  return /\)( const| &&?| \[.*\])*$/.test(name.replace(INTERFACE, "")) ? withoutReturnType(bare) : bare;
}

const MAINS: ReadonlySet<string> = new Set(["__main_argc_argv", "__main_void", "__original_main"]);

/** Returns the source name of a program's main function; other names are unchanged. */
export function mainName(name: string): string {
  return MAINS.has(name) ? "main" : name;
}

/** Removes the text before the last space outside of brackets and of an operator's name. */
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
