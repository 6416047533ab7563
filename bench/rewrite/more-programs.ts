import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { NativeProgram } from "../native/programs.ts";

function installed(
  packageName: string,
  path: string,
  args: readonly string[] | ((folder: string) => readonly string[]),
  input?: string,
): NativeProgram {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const command = (folder: string) =>
    existsSync(path) ? [path, ...(typeof args === "function" ? args(folder) : args)] : undefined;
  return { name, package: packageName, command, ...(input === undefined ? {} : { input }) };
}

/** A program of a few lines that is compiled first; the compiler's arguments are followed by the source and `-o` with the target. */
function compiled(
  name: string,
  packageName: string,
  compiler: readonly string[],
  suffix: string,
  source: string,
) {
  const command = (folder: string): string[] | undefined => {
    const from = join(folder, `${name}.${suffix}`);
    const target = join(folder, name);
    writeFileSync(from, source);
    const [first, ...rest] = [...compiler, from, "-o", target];
    const { status } = spawnSync(first, rest, { stdio: "ignore", cwd: folder });
    return status === 0 ? [target] : undefined;
  };
  return { name, package: packageName, command };
}

const LUA = `
local t = {}
for i = 1, 100000 do t[i] = {n = (i * 7919) % 100003, s = "k" .. i % 977} end
table.sort(t, function(a, b) return a.n < b.n end)
local c = {}
for _, v in ipairs(t) do c[v.s] = (c[v.s] or 0) + v.n end
local n = 0
for k, v in pairs(c) do n = n + v % 13 end
print(n, string.rep("x", 10):gsub("x", "yz"), pcall(error, "e"))`;
const RUBY = `
h = Hash.new(0)
50000.times { |i| h["k#{i % 977}"] += i }
begin; raise ArgumentError, "x"; rescue => e; puts e.message; end
puts h.sort_by { |k, v| [-v, k] }.first(3).inspect, (1..300).inject(:*).to_s.size, "abcabc".gsub(/b(.)/, '<\\\\1>')
puts Fiber.new { Fiber.yield 7 }.resume, catch(:t) { throw :t, 4 }
exit 3`;
const PHP = `
$h = []; for ($i = 0; $i < 50000; $i++) { $k = "k" . $i % 977; $h[$k] = ($h[$k] ?? 0) + $i; } arsort($h);
function g() { try { yield 1; throw new Exception("x"); } finally { echo "f"; } }
try { foreach (g() as $x) echo $x; } catch (Exception $e) { echo $e->getMessage(); }
echo json_encode(array_slice($h, 0, 3)), preg_replace("/b(.)/", "<$1>", "abcabc"), md5("x"); exit(3);`;
const GUILE = `
(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2)))))
(display (f 18)) (display (call/cc (lambda (k) (+ 1 (k 42)))))
(display (catch 'x (lambda () (throw 'x 1)) (lambda (k v) (list k v))))
(display (string-length (number->string (expt 7 2000))))`;
const CPP = `
#include <iostream>
#include <map>
#include <string>
#include <stdexcept>
#include <thread>
#include <vector>
#include <regex>
__attribute__((noinline)) int f(int i) { if (i % 3 == 0) throw std::runtime_error("x" + std::to_string(i)); return i; }
int main() {
  std::vector<long> sums(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) threads.emplace_back([&, t] {
    std::map<std::string, int> m;
    for (int i = 0; i < 3000; i++) try { m[std::to_string(i % 97)] += f(i + t); } catch (const std::exception &x) { sums[t] += x.what()[1]; }
    for (auto &[k, v] : m) sums[t] += v * k.size();
  });
  for (auto &t : threads) t.join();
  for (long s : sums) std::cout << s << " ";
  std::cout << std::regex_replace("abcabc", std::regex("b(.)"), "<$1>") << "\\n";
  throw 5;
}`;
const FORTRAN = `
program p
  implicit none
  real(8) :: a(60, 60), b(60, 60), c(60, 60)
  integer :: i, j
  do i = 1, 60; do j = 1, 60; a(i, j) = sin(real(i * j, 8)); b(i, j) = i - j / 3.0; end do; end do
  c = matmul(a, b)
  print '(3F14.6)', sum(c), maxval(c), c(7, 9)
  stop 3
end program`;
const OPENMP = `
#include <stdio.h>
int main() {
  long s = 0;
  #pragma omp parallel for reduction(+ : s) num_threads(4)
  for (int i = 0; i < 2000000; i++) s += (i * 7919L) % 1009;
  printf("%ld\\n", s);
}`;
const OCAML = `
module M = Map.Make (String)
exception E of int
let rec f n = if n = 0 then raise (E 5) else 1 + f (n - 1)
let () =
  let m = ref M.empty in
  for i = 0 to 30000 do
    let k = string_of_int (i mod 977) in
    m := M.add k (i + try M.find k !m with Not_found -> 0) !m
  done;
  Printf.printf "%d %d %d\\n" (M.cardinal !m) (M.find "5" !m) (try f 1000 with E n -> n)`;
const RUST = `
use std::collections::BTreeMap;
fn main() {
    let mut m: BTreeMap<String, u64> = BTreeMap::new();
    for i in 0..30000u64 { *m.entry(format!("{}", i % 977)).or_insert(0) += i; }
    let t: Vec<_> = (0..4u64).map(|k| std::thread::spawn(move || (0..100000u64).fold(k, |s, i| s.wrapping_mul(31).wrapping_add(i)))).collect();
    let s: u64 = t.into_iter().map(|h| h.join().unwrap() % 1009).sum();
    let e = std::panic::catch_unwind(|| { if s > 0 { panic!("x") } });
    println!("{} {} {} {}", m.len(), m["5"], s, e.is_err());
    std::process::exit(3);
}`;
const GO = `
package main
// long f(long n) { long s = 0; for (long i = 0; i < n; i++) s += i * 7919 % 1009; return s; }
import "C"
import "fmt"
func main() {
	m := map[string]int{}
	for i := 0; i < 30000; i++ { m[fmt.Sprint(i % 977)] += int(C.f(C.long(i % 100))) }
	fmt.Println(len(m), m["5"])
}`;
const ADA = `
with Ada.Text_IO; use Ada.Text_IO;
with Ada.Containers.Ordered_Maps;
procedure Ada_Program is
   package Maps is new Ada.Containers.Ordered_Maps (Integer, Integer);
   M : Maps.Map;
   task type Worker (N : Integer) is
      entry Result (R : out Integer);
   end Worker;
   task body Worker is
      S : Integer := 0;
   begin
      for I in 1 .. 10000 loop S := (S * 31 + I + N) mod 10007; end loop;
      accept Result (R : out Integer) do R := S; end Result;
   end Worker;
   A : Worker (1); B : Worker (2); X, Y : Integer;
   function F (N : Integer) return Integer is (if N = 0 then raise Constraint_Error with "x" else F (N - 1) + 1);
begin
   for I in 1 .. 20000 loop M.Include (I * 7919 mod 9973, I); end loop;
   A.Result (X); B.Result (Y);
   Put_Line (Integer'Image (Integer (M.Length)) & Integer'Image (M.First_Element) & Integer'Image (X + Y));
   begin
      X := F (100);
   exception
      when E : Constraint_Error => Put_Line ("caught");
   end;
end Ada_Program;`;
const D = `
import std.stdio, std.algorithm, std.array, std.conv, core.thread;
class E : Exception { this(string s) { super(s); } }
int f(int n) { if (n == 0) throw new E("x"); return f(n - 1) + 1; }
int main() {
  int[string] m; foreach (i; 0 .. 30000) m[to!string(i % 977)] += i;
  long[] all; foreach (i; 0 .. 100000) all ~= (i * 7919L) % 100003;
  long s; auto t = new Thread({ foreach (i; 0 .. 1000) { auto p = new long[100]; p[5] = i; s += p[5]; } }); t.start(); t.join();
  try f(50); catch (E e) writeln(e.msg);
  writeln(m.length, " ", m["5"], " ", all.sort[777], " ", s, " ", [3, 1, 2].map!(x => x * x).sum);
  return 3;
}`;
const QT = `
#include <QtWidgets/QtWidgets>
int main(int argc, char **argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  QWidget window; QVBoxLayout layout(&window);
  QLabel label("text"); QPushButton button("press"); QTableWidget table(20, 5);
  for (int i = 0; i < 100; i++) table.setItem(i / 5, i % 5, new QTableWidgetItem(QString::number(i * 7919 % 101)));
  table.sortItems(2); layout.addWidget(&label); layout.addWidget(&button); layout.addWidget(&table);
  int pressed = 0; QObject::connect(&button, &QPushButton::clicked, [&] { pressed++; application.quit(); });
  QTimer::singleShot(0, [&] { button.click(); });
  window.resize(400, 300); window.show(); application.exec();
  QImage image(400, 300, QImage::Format_ARGB32); image.fill(Qt::white); window.render(&image);
  quint32 sum = 0; for (int y = 0; y < 300; y++) for (int x = 0; x < 400; x++) sum = sum * 31 + image.pixel(x, y);
  printf("%d %s %u\\n", pressed, qPrintable(table.item(3, 2)->text()), sum);
}`;
const QT_PARTS = ["QtCore", "QtGui", "QtWidgets"];
const QT_COMPILER = [
  "g++",
  "-O1",
  "-fPIC",
  "-Wl,--no-as-needed",
  "-I/usr/include/x86_64-linux-gnu/qt5",
  ...QT_PARTS.map((part) => `-I/usr/include/x86_64-linux-gnu/qt5/${part}`),
  ...QT_PARTS.map((part) => `-l${part.replace("Qt", "Qt5")}`),
];
const LUAJIT = `
local ffi = require("ffi") ffi.cdef("int abs(int);")
local s = 0 for i = 1, 5000000 do s = (s + i * 7919) % 100003 end
local t = {} for i = 1, 50000 do t["k" .. i % 977] = (t["k" .. i % 977] or 0) + ffi.C.abs(-i) end
print(s, t.k5, pcall(error, "e"), select("#", coroutine.wrap(function() coroutine.yield(1, 2) end)()))`;
const NODE = `
let s = 0; for (let i = 0; i < 3e6; i++) s = (s + i * 7919) % 100003;
const m = new Map(); for (let i = 0; i < 50000; i++) m.set("k" + (i % 977), (m.get("k" + (i % 977)) ?? 0) + i);
try { null.x } catch (e) { console.log(e.message) }
console.log(s, m.get("k5"), JSON.stringify([...m].slice(0, 3)), "abcabc".replace(/b(.)/g, "<$1>"), 2n ** 500n); process.exitCode = 3;`;
const LISP = `
(handler-case (error "x") (error (e) (format t "~a~%" e)))
(let ((h (make-hash-table))) (dotimes (i 50000) (incf (gethash (mod i 977) h 0) i)) (format t "~a ~a~%" (gethash 5 h) (expt 7 300)))
(defun f (n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (format t "~a~%" (f 22)) (gc :full t) (sb-ext:exit :code 3 :abort t)`;
const LINES = Array.from({ length: 100_000 }, (_, i) => `${(i * 7919) % 100_003} line ${i}`).join("\n");
const HASKELL = "#!/bin/sh\nfor f in $(ls *.x); do echo $f; done\nif [ $a == b ]; then cat a | grep b; fi\n";

/** Programs that are not timed: they check that rewriting changes no behaviour, and how much time they spend in rewritten code. */
export const MORE_PROGRAMS: readonly NativeProgram[] = [
  installed("lua5.4", "/usr/bin/lua5.4", ["-e", LUA]),
  installed("coreutils", "/usr/bin/sort", ["-k", "1n"], LINES),
  installed("gzip", "/usr/bin/gzip", ["-c", "-n"], LINES),
  installed("xz-utils", "/usr/bin/xz", ["-c", "-1", "-T2"], LINES),
  installed("zstd", "/usr/bin/zstd", ["-c", "-T2", "-9"], LINES),
  installed("bzip2", "/usr/bin/bzip2", ["-c"], LINES),
  installed(
    "gawk",
    "/usr/bin/gawk",
    ["{ n[$1 % 97] += $3 * length($2) } END { for (k in n) s += n[k] % 7; print s }"],
    LINES,
  ),
  installed(
    "mawk",
    "/usr/bin/mawk",
    ["{ n[$1 % 97] += $3 } END { for (k in n) s += n[k] % 7; print s; exit 3 }"],
    LINES,
  ),
  installed("sed", "/usr/bin/sed", ["-E", "s/([0-9]+) line/<\\1>/; /7$/d"], LINES),
  installed("grep", "/usr/bin/grep", ["-E", "-c", "(1|2).*line [0-9]+7$"], LINES),
  installed("ripgrep", "/usr/bin/rg", ["-c", "(1|2).*line [0-9]+7$", "-"], LINES),
  installed("openssl", "/usr/bin/openssl", ["dgst", "-sha3-256"], LINES),
  installed("bash", "/usr/bin/bash", [
    "-c",
    "for ((i = 0; i < 50000; i++)); do s=$((s + i * i % 7)); done; echo $s; kill -TERM $$",
  ]),
  installed("bc", "/usr/bin/bc", ["-l"], "scale=200; a(1)*4; 7^500\n"),
  installed("git", "/usr/bin/git", ["hash-object", "--stdin"], LINES),
  installed("diffutils", "/usr/bin/diff", ["/etc/services", "/etc/protocols"]),
  installed("binutils", "/usr/bin/objdump", ["-d", "/usr/bin/gzip"]),
  installed("gdb", "/usr/bin/gdb", [
    "-q",
    "-nx",
    "-batch",
    "-ex",
    "info line main",
    "-ex",
    "p 6*7",
    "/usr/bin/gzip",
  ]),
  installed(
    "vim",
    "/usr/bin/vim",
    ["-u", "NONE", "-es", "-c", "%s/line/x/g", "-c", "%print", "-c", "qa!", "/dev/stdin"],
    LINES.slice(0, 9000),
  ),
  installed("ruby", "/usr/bin/ruby", ["-e", RUBY]),
  installed("php-cli", "/usr/bin/php", ["-r", PHP]),
  installed("guile-3.0", "/usr/bin/guile", ["-c", GUILE]),
  installed("ffmpeg", "/usr/bin/ffmpeg", [
    "-v",
    "quiet",
    "-f",
    "lavfi",
    "-i",
    "testsrc=d=1:s=160x120",
    "-c:v",
    "mpeg4",
    "-fflags",
    "+bitexact",
    "-flags:v",
    "+bitexact",
    "-threads",
    "2",
    "-f",
    "avi",
    "-",
  ]),
  installed("shellcheck", "/usr/bin/shellcheck", ["-"], HASKELL),
  installed("redis-server", "/usr/bin/redis-server", ["--test-memory", "1"]),
  installed("postgresql", "/usr/lib/postgresql/15/bin/postgres", ["--describe-config"]),
  installed("nginx", "/usr/sbin/nginx", ["-V"]),
  installed("luajit", "/usr/bin/luajit", ["-e", LUAJIT]),
  installed("nodejs", "/usr/bin/node", ["-e", NODE]),
  installed("sbcl", "/usr/bin/sbcl", ["--noinform", "--no-userinit", "--eval", `(progn ${LISP})`]),
  installed("make", "/usr/bin/make", ["-n", "-f", "/dev/stdin"], "a: b\n\techo $(words a b c)\nb:\n"),
  compiled("exceptions", "g++", ["g++", "-O2", "-pthread"], "cpp", CPP),
  compiled("static-exceptions", "g++", ["g++", "-O2", "-static", "-pthread"], "cpp", CPP),
  compiled("openmp", "gcc", ["gcc", "-O3", "-march=native", "-fopenmp"], "c", OPENMP),
  compiled("fortran", "gfortran", ["gfortran", "-O3", "-march=native"], "f90", FORTRAN),
  compiled("ada_program", "gnat", ["gnatmake", "-q", "-O2"], "adb", ADA),
  compiled("d", "gdc", ["gdc", "-O2"], "d", D),
  compiled("qt", "qtbase5-dev", QT_COMPILER, "cpp", QT),
  compiled("ocaml", "ocaml-nox", ["ocamlopt"], "ml", OCAML),
  compiled("rust", "rustc", ["rustc", "-O"], "rs", RUST),
  compiled("cgo", "golang", ["env", "HOME=/tmp", "sh", "-c", 'go build -o "$3" "$1"', "sh"], "go", GO),
];
