/* The whole device library as one translation unit. */
#include "reduce.c"
#include "move.c"
#include "root.c"
#include "thread.c"
