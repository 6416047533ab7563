/**
 * The name of a demangled C++ function without its parameters: `Bomb::~Bomb()` becomes `Bomb::~Bomb`,
 * `run(int)::'lambda'(int)::operator()(int) const` keeps what names the function.
 */
export function withoutParameters(whole: string): string {
  // What compilers append, as in `run() (.cold)`.
  const name = whole.replace(/(?: \(\.[^()]*\))+$/, "");
  // A stub for calls of another object.
  if (name.endsWith("@plt")) return `${withoutParameters(name.slice(0, -4))}@plt`;
  const end = name.lastIndexOf(")");
  // What may follow the parameters: qualifiers, and marks of compilers.
  if (end < 0 || !/^(?: const| volatile| ?&{1,2})*$/.test(name.slice(end + 1))) return name;
  let depth = 0;
  for (let at = end; at >= 0; at--)
    if (name[at] === ")") depth++;
    else if (name[at] === "(" && --depth === 0) {
      const before = name.slice(0, at);
      return before.endsWith("operator") || before === "" ? name : before;
    }
  return name;
}
