/** Types of one letter. */
export const BUILTIN_TYPES: Readonly<Record<string, string>> = {
  v: "void",
  w: "wchar_t",
  b: "bool",
  c: "char",
  a: "signed char",
  h: "unsigned char",
  s: "short",
  t: "unsigned short",
  i: "int",
  j: "unsigned int",
  l: "long",
  m: "unsigned long",
  x: "long long",
  y: "unsigned long long",
  n: "__int128",
  o: "unsigned __int128",
  f: "float",
  d: "double",
  e: "long double",
  g: "__float128",
  z: "...",
};

/** Types of a `D` and a letter. */
export const D_TYPES: Readonly<Record<string, string>> = {
  d: "decimal64",
  e: "decimal128",
  f: "decimal32",
  h: "half",
  i: "char32_t",
  s: "char16_t",
  u: "char8_t",
  a: "auto",
  c: "decltype(auto)",
  n: "std::nullptr_t",
};

/** How literals of a type are written: a suffix, or a type to cast to. */
export const LITERAL_TYPES: Readonly<Record<string, string>> = {
  w: "wchar_t",
  c: "char",
  a: "signed char",
  h: "unsigned char",
  s: "short",
  t: "unsigned short",
  i: "",
  j: "u",
  l: "l",
  m: "ul",
  x: "ll",
  y: "ull",
  n: "__int128",
  o: "unsigned __int128",
};
