/* Lua without setjmp: an error ends the program, as the script makes none. */
#include <stdlib.h>
#define LUAI_THROW(L, c) abort()
#define LUAI_TRY(L, c, a) { a }
#define luai_jmpbuf int
