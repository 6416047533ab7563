/* A Lua script: calls, tables, strings, sorting.
   usage: lua ROUNDS */
#include <stdio.h>
#include <stdlib.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

static const char script[] =
    "local rounds = ...\n"
    "local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end\n"
    "local function shapes(n)\n"
    "  local Shape = {} Shape.__index = Shape\n"
    "  function Shape.new(w, h) return setmetatable({w = w, h = h}, Shape) end\n"
    "  function Shape:area() return self.w * self.h end\n"
    "  local sum, list = 0, {}\n"
    "  for i = 1, n do list[i] = Shape.new(i % 17, i % 23) end\n"
    "  for _, shape in ipairs(list) do sum = sum + shape:area() end\n"
    "  return sum\n"
    "end\n"
    "local function words(n)\n"
    "  local count, parts = {}, {}\n"
    "  for i = 1, n do\n"
    "    local word = 'w' .. (i * 7919 % 211)\n"
    "    count[word] = (count[word] or 0) + 1\n"
    "    parts[#parts + 1] = word:upper()\n"
    "  end\n"
    "  local text, found = table.concat(parts, ' '), 0\n"
    "  for _ in text:gmatch('W1%d+') do found = found + 1 end\n"
    "  return found, #text\n"
    "end\n"
    "local function sorted(n)\n"
    "  local list, state = {}, 42\n"
    "  for i = 1, n do state = (state * 1103515245 + 12345) % 2147483648 list[i] = state end\n"
    "  table.sort(list)\n"
    "  table.sort(list, function(a, b) return a % 1000 < b % 1000 or a % 1000 == b % 1000 and a < b end)\n"
    "  return list[1], list[n // 2]\n"
    "end\n"
    "local function sieve(n)\n"
    "  local composite, primes = {}, 0\n"
    "  for i = 2, n do\n"
    "    if not composite[i] then primes = primes + 1 for j = i * i, n, i do composite[j] = true end end\n"
    "  end\n"
    "  return primes\n"
    "end\n"
    "for round = 1, rounds do\n"
    "  print(fib(20), shapes(5000), sieve(20000))\n"
    "  print(words(5000))\n"
    "  print(sorted(5000))\n"
    "end\n";

int main(int argc, char **argv) {
  lua_State *state = luaL_newstate();
  luaL_requiref(state, "_G", luaopen_base, 1);
  luaL_requiref(state, LUA_TABLIBNAME, luaopen_table, 1);
  luaL_requiref(state, LUA_STRLIBNAME, luaopen_string, 1);
  luaL_requiref(state, LUA_MATHLIBNAME, luaopen_math, 1);
  if (luaL_loadstring(state, script) != LUA_OK) {
    puts(lua_tostring(state, -1));
    return 1;
  }
  lua_pushinteger(state, argc > 1 ? atoi(argv[1]) : 1);
  lua_call(state, 1, 0);
  lua_close(state);
  return 0;
}
