/* <assert.h>: C's names, as far as Metal has them. */
#pragma once
#include <metal_assert>
