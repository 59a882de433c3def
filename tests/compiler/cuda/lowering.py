#!/usr/bin/env python3
"""lowering.py TOMBAC-CC: what single constructs become in PTX. Each case is a kernel body with patterns that must and must not
occur in the text."""
import re
import subprocess
import sys

HEAD = "#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\nusing namespace metal;\n"
PARAMETERS = ("device float *out [[buffer(0)]], const device float *in [[buffer(1)]], device atomic_uint *count [[buffer(2)]], "
              "constant float4 &by_value [[buffer(3)]], constant float *by_address [[buffer(4)]], "
              "threadgroup float *scratch [[threadgroup(0)]], uint i [[thread_position_in_grid]], "
              "uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]], "
              "uint size [[threads_per_threadgroup]]")

# name, body, patterns that must occur, patterns that must not
CASES = [
    ("arguments: pointers, bytes by value, offsets", "out[i] = in[i] * by_value.y * by_address[1] + scratch[lane];",
     [r"^// tombac cuda: tombac_cuda_kernel 0 p p p v p t;$", r"\.param \.align 16 \.b8 tombac_cuda_kernel_param_4\[16\]",
      r"mov\.b64\s+(%rd\d+), tombac_cuda_kernel_param_4;|param_4\+4\]", r"ld\.shared"], [r"\.local"]),
    ("a reference whose address is used is no value", "constant float4 *p = i > 3 ? &by_value : (constant float4 *)by_address; out[i] = p->x;",
     [r"^// tombac cuda: tombac_cuda_kernel 0 p p p p p t;$"], []),
    ("positions in registers", "out[i] = float(size);", [r"%tid\.x", r"%ctaid\.x"], [r"\.local", r"%tid\.y"]),
    ("uniform flow needs no ballot", "for (uint k = 0; k < size; k++) out[k] = simd_sum(in[i + k]);",
     [r"shfl\.sync\.bfly"], [r"vote"]),
    ("a byte of a number is stored from a copy, as ptxas converts the number", "((device uchar *)out)[i] = uchar(as_type<uint>(in[i] + 1));",
     [r"add\.rn\.f32\s+(%r\d+),(?s:.*)mov\.b32\s+%cut0, \1;\n\s*st\.global\.b8\s+\[%rd\d+\], %cut0;"], [r"st\.global\.b8[^%]*%rd\d+\], %r\d"]),
    ("a branch on the SIMD-group's number is uniform", "if (group == 1) out[i] = simd_sum(in[i]);", [r"shfl\.sync"], [r"vote"]),
    ("a branch on the lane is not", "if (lane & 1) out[i] = simd_sum(in[i]);", [r"vote\.sync\.ballot", r"shfl\.sync"], []),
    ("so is a loop whose length differs", "float s = 0; for (uint k = 0; k < lane; k++) s += simd_sum(in[k]); out[i] = s;",
     [r"vote\.sync\.ballot"], []),
    ("and what follows an early return", "if (i > 7) return; out[i] = simd_max(in[i]);", [r"vote\.sync\.ballot"], []),
    ("a value that lanes agree on makes a uniform branch", "if (simd_any(in[i] > 0)) out[i] = simd_sum(in[i]);",
     [r"vote\.sync\.any", r"shfl\.sync"], [r"ballot"]),
    ("integers of 32 bits are reduced by an instruction", "out[i] = simd_max(int(in[i])) + simd_sum(i);",
     [r"redux\.sync\.max\.s32", r"redux\.sync\.add\.s32"], []),
    ("barriers in the form for parted lanes", "scratch[lane] = in[i]; threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = scratch[lane ^ 1];",
     [r"barrier\.sync\s+0"], [r"bar\.sync\s", r"aligned"]),
    ("SIMD-group barriers", "scratch[lane] = in[i]; simdgroup_barrier(mem_flags::mem_threadgroup); out[i] = scratch[lane ^ 1];",
     [r"bar\.warp\.sync"], [r"barrier\.sync"]),
    ("atomics reach the device", "atomic_fetch_add_explicit(count, i, memory_order_relaxed);",
     [r"atom\.(relaxed\.gpu\.)?global\.add\.u32"], [r"\.sys"]),
    ("the order of an atomic operation is kept by fences", "out[i] = 1; if (atomic_fetch_add_explicit(count, 1, memory_order_acq_rel) == 3) out[i] = out[0];",
     [r"fence\.acq_rel\.gpu;\n[^}]*atom\.[^}]*fence\.acq_rel\.gpu;"], []),
    ("a relaxed one needs none", "atomic_fetch_max_explicit(count, i, memory_order_relaxed);", [r"atom\.[.\w]*max"], [r"fence"]),
    ("matrices of halves on tensor cores", "simdgroup_half8x8 a, b; simdgroup_float8x8 c(0); simdgroup_load(a, (const device half *)in, 8); "
     "simdgroup_load(b, (const device half *)in + 64, 8); simdgroup_multiply_accumulate(c, a, b, c); simdgroup_store(c, out, 8);",
     [r"mma\.sync\.aligned\.m16n8k8"], [r"shfl"]),
    ("matrices of floats in parts", "simdgroup_float8x8 a, b, c(0); simdgroup_load(a, in, 8); simdgroup_load(b, in + 64, 8); "
     "simdgroup_multiply_accumulate(c, a, b, c); simdgroup_store(c, out, 8);", [r"tf32(?s:.*)tf32"], [r"shfl"]),
    ("two products with the same right operand share an instruction", "simdgroup_half8x8 a, b, e; simdgroup_float8x8 c(0), d(1); "
     "simdgroup_load(a, (const device half *)in, 8); simdgroup_load(b, (const device half *)in + 64, 8); "
     "simdgroup_load(e, (const device half *)in + 128, 8); simdgroup_multiply_accumulate(c, a, b, c); simdgroup_multiply_accumulate(d, e, b, d); "
     "simdgroup_store(c, out, 8); simdgroup_store(d, out + 64, 8);",
     [r"m16n8k8(?!(?s:.*)m16n8k8)", r"movmatrix(?!(?s:.*)movmatrix)"], [r"m16n8k16"]),
    ("and so do two steps of them", "simdgroup_half8x8 a, b, e; simdgroup_float8x8 c(0), d(1); for (int k = 0; k < 2; k++) { "
     "simdgroup_load(a, (const device half *)in + k * 512, 8); simdgroup_load(b, (const device half *)in + 64 + k * 512, 8); "
     "simdgroup_load(e, (const device half *)in + 128 + k * 512, 8); simdgroup_multiply_accumulate(c, a, b, c); "
     "simdgroup_multiply_accumulate(d, e, b, d); } simdgroup_store(c, out, 8); simdgroup_store(d, out + 64, 8);",
     [r"m16n8k16(?!(?s:.*)m16n8k16)"], [r"m16n8k8", r"shfl"]),
    ("a result that is needed in between keeps two steps apart", "simdgroup_half8x8 a, b; simdgroup_float8x8 c(0); "
     "simdgroup_load(a, (const device half *)in, 8); simdgroup_load(b, (const device half *)in + 64, 8); "
     "simdgroup_multiply_accumulate(c, a, b, c); simdgroup_store(c, out, 8); simdgroup_multiply_accumulate(c, b, a, c); "
     "simdgroup_store(c, out + 64, 8);", [r"m16n8k8(?s:.*)m16n8k8"], [r"m16n8k16"]),
    ("a product that is rounded to halves", "simdgroup_half8x8 a, b, c(0); simdgroup_load(a, (const device half *)in, 8); "
     "simdgroup_load(b, (const device half *)in + 64, 8); simdgroup_multiply_accumulate(c, a, b, c); simdgroup_multiply_accumulate(c, a, c, c); "
     "simdgroup_store(c, (device half *)out, 8);", [r"mma\.sync(?s:.*)mma\.sync"], [r"shfl"]),
    ("floats times halves in two parts", "simdgroup_float8x8 a, c(0); simdgroup_half8x8 b; simdgroup_load(a, in, 8); "
     "simdgroup_load(b, (const device half *)in + 64, 8); simdgroup_multiply_accumulate(c, a, b, c); simdgroup_store(c, out, 8);",
     [r"m16n8k8\.row\.col\.f32\.tf32(?!(?s:.*)m16n8k8)", r"and\.b32 [^;]*, -8192;"], [r"shfl", r"cvt\.rna"]),
    ("matrices of halves and safe math: in order", "simdgroup_half8x8 a, b; simdgroup_float8x8 c(0); "
     "simdgroup_load(a, (const device half *)in, 8); simdgroup_load(b, (const device half *)in + 64, 8); "
     "simdgroup_multiply_accumulate(c, a, b, c); simdgroup_store(c, out, 8);", [r"shfl\.sync", r"fma\.rn\.f32"], [r"mma\.sync"]),
    ("fences", "out[i] = 1; atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device); out[i + 1] = 2;",
     [r"membar\.gl|fence\.\w+\.gpu"], []),
    ("vector accesses", "((device float4 *)out)[i] = ((const device float4 *)in)[i];",
     [r"ld\.global[.\w]*\.(v4\.b32|v2\.b64)", r"st\.global\.(v4\.b32|v2\.b64)"], []),
    ("private arrays with static indices stay in registers", "float a[8]; for (int k = 0; k < 8; k++) a[k] = in[i + k]; float s = 0; "
     "for (int k = 0; k < 8; k++) s += a[7 - k]; out[i] = s;", [], [r"\.local"]),
    ("private arrays that are read at a run-time index are selected from", "float a[8]; for (int k = 0; k < 8; k++) a[k] = in[i + k] * 2; "
     "out[i] = a[lane & 7];", [r"selp"], [r"\.local"]),
    ("those that are written at one too", "float a[4] = {1, 2, 3, 4}; a[lane & 3] = in[i]; out[i] = a[0] * a[1] + a[2] * a[3];",
     [r"selp|setp"], [r"\.local"]),
    ("large ones stay in memory", "float a[200]; for (int k = 0; k < 200; k++) a[k] = in[i + k]; out[i] = a[lane * 3];", [r"\.local"], []),
    ("four neighbours are one access of an aligned buffer, and there is a second entry",
     "out[i] = in[4 * i] + in[4 * i + 1] + in[4 * i + 2] + in[4 * i + 3];",
     [r"^// tombac cuda: tombac_cuda_kernel 0 [^;]*;$", r"entry tombac_cuda_kernel\((?s:.*)ld\.global[.\w]*\.v4\.b32",
      r"entry tombac_cuda_kernel_general\("], []),
    ("a stride that must be a multiple of 16 is named", "const device float *p = (const device float *)((const device char *)in + i * ulong(by_value.x)); "
     "const device float *q = (const device float *)((const device char *)in + i * as_type<uint>(by_value.y)); out[i] = p[0] + q[0] + q[1] + q[2] + q[3];",
     [r"^// tombac cuda: tombac_cuda_kernel 0 [^;]*; 3\.4\.4$", r"entry tombac_cuda_kernel_general\("], []),
    ("a row's member is no neighbour of an element", "uint x = as_type<uint>(in[i]) & 255; const device float4 *rows = (const device float4 *)in; "
     "out[i] = in[x + 3] * 3 + rows[x].z;", [], [r"ld\.global[.\w]*\.v2"]),
    ("a pointer that goes round a loop keeps its alignment", "float s = 0; const device float *p = in + 8 * i; for (uint k = 0; k < size; k++, p += 16) "
     "s += p[0] + p[1] + p[2] + p[3]; out[i] = s;", [r"ld\.global[.\w]*\.v4\.b32"], []),
    ("one that moves by less does not", "float s = 0; const device float *p = in + 8 * i; for (uint k = 0; k < size; k++, p += 3) "
     "s += p[0] + p[1] + p[2] + p[3]; out[i] = s;", [], [r"ld\.global[.\w]*\.v[24]", "unaligned"]),
    ("division is rounded right in fast math too", "out[i] = in[i] / in[i + 1] + sqrt(in[i + 2]);",
     [r"sqrt\.rn\.f32"], [r"div\.approx", r"sqrt\.approx", r"div\.full"]),
    ("the inverse of a root has no slow path", "out[i] = rsqrt(in[i]);", [r"rsqrt\.approx\.ftz\.f32"], [r"sqrt\.rn", r"(div|rcp)\.rn"]),
    ("which was not shown on sm_80", "out[i] = rsqrt(in[i]);", [r"sqrt\.rn", r"(div|rcp)\.rn"], [r"rsqrt"]),
    ("what is not its inverse is divided", "out[i] = 3.0f / sqrt(in[i]) + 1.0h / half(sqrt(half(in[i + 1])));", [r"sqrt\.rn", r"div\.rn"], [r"rsqrt"]),
    ("constant memory is read as unchanging", "out[i] = by_address[i] + in[i];", [r"ld\.global\.nc", r"ld\.global\.b32"], []),
    ("but not device memory that is never written here", "out[i] = in[i];", [], [r"\.nc"]),
    ("loops compare the next count", "int n = 0; for (float x = in[i]; n < 200 && x < 4; n++) x = x * x + in[i]; out[i] = n;",
     [r"add\.s32\s+(%r\d+), %r\d+, 1;(?s:.*?)setp\.\w+\.[us]32\s+%p\d+, \1, (200|199);"], []),
    ("assertions write records", "assert(in[i] > 0); out[i] = 1;",
     [r"^// tombac cuda: tombac_cuda_kernel 1 ", r"tombac_cuda_literals\[", r"\bexit;"], [r"\btrap;"]),
]
MATH1 = ("acos acosh asin asinh atan atanh ceil cos cosh cospi exp exp10 exp2 fabs floor fract log log10 log2 rint round rsqrt sin "
         "sinh sinpi sqrt tan tanh tanpi trunc").split()
MATH2 = "atan2 copysign fdim fmax fmin fmod pow powr nextafter".split()


PLAIN, GENERAL = (rf"entry tombac_cuda_kernel{suffix}\((?:(?!\n\}})(?s:.))*?" for suffix in ("", "_general"))
ARGUMENTS = ["--argument", "3=0x000000000000803f1000000000000000", "--threadgroup", "64,2,1"]
# The same with further options of the compiler.
MORE = [
    ("plain launches have whole SIMD-groups", "out[i] = simd_sum(in[i]);", [PLAIN + r"shfl\.sync\.bfly", GENERAL + r"shfl\.sync\.idx", GENERAL + r"div\.u"],
     [PLAIN + r"shfl\.sync\.idx", PLAIN + r"div\.u"], []),
    ("and as many threads as registers allow", "out[i] = 1;", [GENERAL + r"\.maxntid 1024"], [PLAIN + r"ntid \d"], []),
    ("bytes of arguments become constants", "out[i] = in[as_type<uint>(by_value.z) * i] * by_value.y;", [PLAIN + r"ld\.global"],
     [r"ld\.param\S* [^;]*param_4", r"mul\.\S*f32"], ARGUMENTS),
    ("and so does the size of threadgroups", "out[i] = float(size) * lane;", [PLAIN + r"\.reqntid 128", GENERAL + r"\.reqntid 128"],
     [PLAIN + r"(rem|div)\.u"], ARGUMENTS),
    ("strides that are known need no assumption", "const device float *p = (const device float *)((const device char *)in + i * as_type<uint>(by_value.z)); "
     "out[i] = p[0] + p[1] + p[2] + p[3];", [r"^// tombac cuda: tombac_cuda_kernel 0 [^;]*;$", PLAIN + r"ld\.global\S*v4"], [], ARGUMENTS),
    ("also where they are multiplied by a narrow number", "short row = short(i); const device float *p = (const device float *)((const device char *)in "
     "+ long(row) * as_type<uint>(by_value.z)); out[i] = p[0] + p[1] + p[2] + p[3];", [PLAIN + r"ld\.global\S*v4"], [], ARGUMENTS),
    ("a number that is halved in a loop keeps no zeros", "float s = 0; for (uint n = 4096; n > size; n >>= 1) { const device float *p = in + n; "
     "s += p[0] + p[1] + p[2] + p[3]; } out[i] = s;", [PLAIN + r"ld\.global"], [PLAIN + r"ld\.global\S*v[24]"], []),
    ("one that is shifted once keeps the others", "float s = 0; for (uint n = 4096; n > size; n -= 64) { const device float *p = in + (n >> 2); "
     "s += p[0] + p[1] + p[2] + p[3]; } out[i] = s;", [PLAIN + r"ld\.global\S*v4"], [], []),
]

# Operands of products in threadgroup memory.
FILL = "threadgroup half s[1024]; for (int k = 0; k < 32; k++) s[32 * k + lane] = in[32 * k + lane]; simdgroup_barrier(mem_flags::mem_threadgroup); "
PRODUCT = "simdgroup_half8x8 a, b; simdgroup_float8x8 c(0); simdgroup_load(a, s, {0}); simdgroup_load(b, s + 512, {0}); " \
          "simdgroup_multiply_accumulate(c, a, b, c); simdgroup_store(c, out, 8);"
TILES = [
    ("tiles of halves are loaded by ldmatrix, right operands by columns", FILL + PRODUCT.format(16),
     [r"ldmatrix\.sync\.aligned\.m8n8\.x1\.shared", r"ldmatrix\.sync\.aligned\.m8n8\.x1\.trans\.shared"], [r"movmatrix"], []),
    ("rows that may not begin at multiples of 16 bytes are not", FILL + PRODUCT.format(12), [r"movmatrix"], [r"ldmatrix"], []),
    ("nor rows of which the distance is not known", FILL + PRODUCT.format("ulong(size)"), [r"movmatrix"], [r"ldmatrix"], []),
    ("an operand on both sides is transposed", FILL + "simdgroup_half8x8 a; simdgroup_float8x8 c(0); simdgroup_load(a, s, 16); "
     "simdgroup_multiply_accumulate(c, a, a, c); simdgroup_store(c, out, 8);", [r"ldmatrix\.sync\.aligned\.m8n8\.x1\.shared", r"movmatrix"],
     [r"trans\.shared"], []),
    ("a store in between keeps loads apart", FILL + "simdgroup_half8x8 a, e, b; simdgroup_float8x8 c(0); simdgroup_load(a, s, 16); "
     "simdgroup_load(b, s + 512, 16); s[lane] = half(by_value.x); simdgroup_barrier(mem_flags::mem_threadgroup); simdgroup_load(e, s + 8, 16); "
     "simdgroup_multiply_accumulate(c, a, b, c); simdgroup_multiply_accumulate(c, e, b, c); simdgroup_store(c, out, 8);",
     [r"x1\.shared(?s:.*)st\.shared(?s:.*)x1\.shared"], [r"x2\.shared"], []),
    ("four tiles by one instruction", FILL + "simdgroup_half8x8 a, b; simdgroup_float8x8 c(0); for (int k = 0; k < 4; k++) { simdgroup_load(a, s + 8 * k, 32); "
     "simdgroup_load(b, s + 512 + 64 * k, 8); simdgroup_multiply_accumulate(c, a, b, c); } simdgroup_store(c, out, 8);",
     [PLAIN + r"x4\.shared", PLAIN + r"x4\.trans\.shared"], [r"x1\.(trans\.)?shared", r"movmatrix"], []),
    ("places in threadgroup memory are permuted for plain launches", FILL + PRODUCT.format(16), [PLAIN + r"xor\.b32"], [GENERAL + r"xor\.b32"], []),
    ("but not where an access is not by pieces of 16 bytes", "struct big { half x[256]; }; " + FILL + "*(threadgroup big *)s = *(threadgroup big *)(s + 512); "
     + PRODUCT.format(16), [r"ldmatrix"], [PLAIN + r"xor\.b32"], []),
    ("nor where padded rows lie in different banks as they are", FILL + PRODUCT.format(40), [r"ldmatrix"], [PLAIN + r"xor\.b32"], []),
    ("what is loaded lies where tensor cores want it", FILL + "simdgroup_half8x8 a, e, b; simdgroup_float8x8 c(0), d(0); for (int k = 0; k < 2; k++) { "
     "simdgroup_load(a, s + 8 * k, 16); simdgroup_load(e, s + 128 + 8 * k, 16); simdgroup_load(b, s + 512 + 64 * k, 8); "
     "simdgroup_multiply_accumulate(c, a, b, c); simdgroup_multiply_accumulate(d, e, b, d); } simdgroup_store(c, out, 8); simdgroup_store(d, out + 64, 8);",
     [PLAIN + r"x4\.shared\.b16 \{(%r\d+), (%r\d+), (%r\d+), (%r\d+)\}(?s:.*?)m16n8k16\S* \{[^}]*\}, \{\1,\2,\3,\4\}",
      PLAIN + r"x2\.trans\.shared\.b16 \{(%r\d+), (%r\d+)\}(?s:.*?)m16n8k16\S* \{[^}]*\}, \{[^}]*\}, \{\1,\2\}"], [r"movmatrix"], []),
    ("so do right operands of several products", FILL + "simdgroup_half8x8 a, b, e; simdgroup_float8x8 c(0), d(0); for (int k = 0; k < 2; k++) { "
     "simdgroup_load(a, s + 8 * k, 16); simdgroup_load(b, s + 512 + 128 * k, 16); simdgroup_load(e, s + 520 + 128 * k, 16); "
     "simdgroup_multiply_accumulate(c, a, b, c); simdgroup_multiply_accumulate(d, a, e, d); } simdgroup_store(c, out, 8); simdgroup_store(d, out + 64, 8);",
     [PLAIN + r"x4\.trans\.shared\.b16 \{(%r\d+), (%r\d+), (%r\d+), (%r\d+)\}(?s:.*?)m16n8k16\S* \{[^}]*\}, \{[^}]*\}, \{\1,\2\}"
      r"(?s:.*?)m16n8k16\S* \{[^}]*\}, \{[^}]*\}, \{\3,\4\}"], [r"movmatrix"], []),
    ("two matrices of a line by 8 bytes for each lane", "const device half *p = (const device half *)in; simdgroup_half8x8 a, b, e; simdgroup_float8x8 c(0), d(0); "
     "simdgroup_load(a, p, 8, ulong2(0), true); simdgroup_load(b, p + 64, 256); simdgroup_load(e, p + 96, 256); simdgroup_multiply_accumulate(c, a, b, c); "
     "simdgroup_multiply_accumulate(d, a, e, d); simdgroup_store(c, out, 8); simdgroup_store(d, out + 64, 8);",
     [PLAIN + r"ld\.global\.v2\.b32(?s:.*?)shfl\.sync\.bfly"], [], []),
    ("but not of two lines", "const device half *p = (const device half *)in; simdgroup_half8x8 a, b, e; simdgroup_float8x8 c(0), d(0); "
     "simdgroup_load(a, p, 8, ulong2(0), true); simdgroup_load(b, p + 64, 256); simdgroup_load(e, p + 128, 256); simdgroup_multiply_accumulate(c, a, b, c); "
     "simdgroup_multiply_accumulate(d, a, e, d); simdgroup_store(c, out, 8); simdgroup_store(d, out + 64, 8);", [], [r"shfl"], []),
    ("four products of neighbours load 16 bytes", "const device half *p = (const device half *)in; simdgroup_half8x8 a, b; simdgroup_float8x8 c(0); "
     "for (int k = 0; k < 4; k++) { simdgroup_load(a, p + 8 * k, 64); simdgroup_load(b, p + 4096 + 8 * k, 64, ulong2(0), true); "
     "simdgroup_multiply_accumulate(c, a, b, c); } simdgroup_store(c, out, 8);", [PLAIN + r"ld\.global\S*v4(?s:.*?)ld\.global\S*v4"],
     [r"movmatrix", PLAIN + r"ld\.global\S*\.b16"], []),
    ("not where something sees the sum of two", "const device half *p = (const device half *)in; simdgroup_half8x8 a, b; simdgroup_float8x8 c(0); "
     "for (int k = 0; k < 4; k++) { simdgroup_load(a, p + 8 * k, 64); simdgroup_load(b, p + 4096 + 8 * k, 64, ulong2(0), true); "
     "simdgroup_multiply_accumulate(c, a, b, c); if (k == 1) simdgroup_store(c, out, 8); } simdgroup_store(c, out + 64, 8);", [r"ld\.global\S*\.b32"],
     [PLAIN + r"ld\.global\S*v4"], []),
    ("a SIMD-group barrier without memory is none", "out[i] = in[i]; simdgroup_barrier(mem_flags::mem_none); out[i + 1] = in[i + 1];", [], [r"bar\.warp"], []),
]

# Loops that copy tiles.
COPY = "threadgroup float s[1024]; float sum = 0; for (uint k = 0; k < size; k++) {{ {0} s[lane] = in[1024 * k + i]; {1} threadgroup_barrier(mem_flags::mem_threadgroup); " \
       "for (int j = 0; j < 8; j++) sum += s[(lane + j) & 31]; threadgroup_barrier(mem_flags::mem_threadgroup); }} out[i] = sum;"
AHEAD = r"ld\.global(?:(?!\n\})(?s:.))*st\.shared(?:(?!\n\})(?s:.))*barrier(?:(?!\n\})(?s:.))*ld\.global(?:(?!\n\})(?s:.))*ld\.shared"
LOOPS = [
    ("tiles are loaded one iteration ahead", COPY.format("", ""), [PLAIN + AHEAD], [GENERAL + AHEAD], []),
    ("not where the loop writes device memory", COPY.format("", "out[i] += 1;"), [], [PLAIN + AHEAD], []),
    ("nor where it has atomic operations", COPY.format("", "atomic_fetch_add_explicit(count, 1, memory_order_relaxed);"), [], [PLAIN + AHEAD], []),
    ("nor where an address is loaded", COPY.format("uint n = as_type<uint>(in[k]);", "").replace("1024 * k + i", "n + i"), [], [PLAIN + AHEAD], []),
]

# Loops that copy tiles of which each lane has a segment of 32 bytes, and multiply.
SHARE = "threadgroup half s[2048]; simdgroup_half8x8 a, b; simdgroup_float8x8 c(0); float sum = 0; for (uint k = 0; k < size; k++) {{ " \
        "const device uint4 *p = (const device uint4 *)((const device half *)in + lane * 1024 + k * {0}); threadgroup uint4 *q = (threadgroup uint4 *)(s + lane * 16); " \
        "q[0] = p[0]; q[1] = p[1]; threadgroup_barrier(mem_flags::mem_threadgroup); {1} threadgroup_barrier(mem_flags::mem_threadgroup); }} " \
        "simdgroup_store(c, out, 8); out[i + 64] = sum;"
MULTIPLY = "simdgroup_load(a, s, 16); simdgroup_load(b, s + 128, 16); simdgroup_multiply_accumulate(c, a, b, c);"
SHARED = r"ld\.global\.v[24]\S*(?:(?!\n\})(?s:.))*shfl\.sync\.bfly"
SHARES = [
    ("lanes share segments of 32 bytes", SHARE.format(16, MULTIPLY), [PLAIN + SHARED, PLAIN + AHEAD.replace(r"ld\.shared", "mma"), PLAIN + r"shfl\.sync\.idx"], [GENERAL + r"shfl"], []),
    ("not where they advance by what is not known", SHARE.format("as_type<uint>(by_value.x)", MULTIPLY), [PLAIN + r"ld\.global"], [PLAIN + SHARED], []),
    ("nor where lanes may be missing", SHARE.format(16, "sum += s[lane];"), [PLAIN + r"ld\.global"], [PLAIN + SHARED], []),
]

# Wide code: a thread does what several neighbours do. Threadgroups of 256.
WIDE, SIZED = r"entry tombac_cuda_kernel_wide\((?:(?!\n\})(?s:.))*?", ["--threadgroup", "256,1,1"]
NONE, FOUR = r"^// tombac cuda: tombac_cuda_kernel \d [^;]*;[^;]*$", r"^// tombac cuda: tombac_cuda_kernel \d [^;]*;[^;]*; 4$"
WIDES = [
    ("four neighbours load and store together", "out[i] = in[i] * 2 + out[i];",
     [FOUR, WIDE + r"reqntid 64,", WIDE + r"ld\.global\.v4\.b32(?s:.*)ld\.global\.v4\.b32(?s:.*)st\.global\.v4\.b32"], [WIDE + r"ld\.global\.b32"], SIZED),
    ("eight halves", "((device half *)out)[i] = ((const device half *)in)[i] * 2;", [r"; 8$", WIDE + r"reqntid 32,", WIDE + r"st\.global\.v4\.b32"], [], SIZED),
    ("those of a kernel that ends early, or one after the other", "if (in[i] > 0) out[i] = 1;",
     [FOUR, WIDE + r"ld\.global\.v4\.b32", WIDE + r"st\.global\.v4\.b32", WIDE + r"st\.global\.b32"], [], SIZED),
    ("neighbours that share elements load them once", "out[i] = in[i] + in[i + 1] + in[i + 2];",
     [FOUR, WIDE + r"ld\.global\.v4\.b32"], [WIDE + r"(?:ld\.global(?:(?!\n\})(?s:.))*?){4}"], SIZED),
    ("not where sizes are not known", "out[i] = in[i];", [NONE], ["_wide"], []),
    ("nor where threads are few", "out[i] = in[i];", [NONE], ["_wide"], ["--threadgroup", "32,1,1"]),
    ("nor where 16 bytes are loaded already", "((device float4 *)out)[i] = ((const device float4 *)in)[i];", [NONE], ["_wide"], SIZED),
    ("nor behind a condition that is the same for all", "if (i / 256 > as_type<uint>(by_value.x)) return; "
     "((device float4 *)out)[i] = ((const device float4 *)in)[i] + 1;", [NONE], ["_wide"], SIZED),
    ("nor four floats of one thread", "out[i] = in[4 * i] + in[4 * i + 1] + in[4 * i + 2] + in[4 * i + 3];", [NONE], ["_wide"], SIZED),
    ("nor elements that are no neighbours", "out[i] = in[1000 * i];", [NONE], ["_wide"], SIZED),
    ("nor atomic operations", "atomic_fetch_add_explicit(count + i, 1, memory_order_relaxed); out[i] = in[i];", [NONE], ["_wide"], SIZED),
    ("nor what SIMD-groups do together", "out[i] = simd_sum(in[i]);", [NONE], ["_wide"], SIZED),
    ("nor threadgroup memory", "scratch[i & 31] = in[i]; out[i] = scratch[i & 31];", [NONE], ["_wide"], SIZED),
    ("nor loops", "float s = 0; for (uint k = 0; k < as_type<uint>(by_value.x); k++) s += in[i + 256 * k]; out[i] = s;", [NONE], ["_wide"], SIZED),
    ("nor volatile accesses", "((volatile device float *)out)[i] = in[i];", [NONE], ["_wide"], SIZED),
    ("nor assertions", "assert(in[i] > 0); out[i] = in[i];", [NONE], ["_wide"], SIZED),
]


def math_cases():
    for space in ("", "fast::", "precise::"):
        for kind in ("float", "half"):
            if space and kind == "half":
                continue
            one = " + ".join(f"metal::{space}{f}({kind}(in[i]))" for f in MATH1)
            two = " + ".join(f"metal::{space}{f}({kind}(in[i]), {kind}(in[i + 1]))" for f in MATH2)
            yield f"every function, {space or 'default '}{kind}", f"out[i] = {one} + {two};", [r"st\.global"], [r"\bcall\b"]


def check(compiler, name, body, wanted, unwanted, options, target):
    source = f"{HEAD}#include <metal_assert>\nkernel void k({PARAMETERS}) {{ {body} }}\n"
    math = "safe" if "safe math" in name else "fast"
    run = subprocess.run([compiler, "emit", "-std=metal4.1", "-w", "--math", math, "--what", "ptx", "--target", target, "--kernel", "k", *options, "-"], input=source,
                         capture_output=True, text=True)
    if run.returncode:
        return [run.stderr]
    missing = [f"missing: {p}" for p in wanted if not re.search(p, run.stdout, re.M)]
    return missing + [f"unwanted: {p}" for p in unwanted if re.search(p, run.stdout, re.M)]


def main():
    failed = 0
    cases = [*((*case, []) for case in (*CASES, *math_cases())), *MORE, *TILES, *LOOPS, *SHARES, *WIDES]
    for number, case in enumerate(cases):
        old = "on sm_80" in case[0] or (number % 5 == 0 and "inverse of a root" not in case[0])
        problems = check(sys.argv[1], *case, "sm_80" if old else "sm_90")
        failed += bool(problems)
        print("FAIL " if problems else "ok   ", case[0], *problems, sep="\n      " if problems else " ")
    for engine, target, text in (("cuda", "sm_70", "no GPU architecture 'sm_70'"), ("check", "sm_90", "only the engine cuda")):
        run = subprocess.run([sys.argv[1], "emit", "--what", "ptx", "--engine", engine, "--target", target, "--kernel", "k", "-"],
                             input=HEAD + "kernel void k() {}\n", capture_output=True, text=True)
        if run.returncode == 0 or text not in run.stderr:
            failed += 1
            print("FAIL  refusing", engine, target, run.stderr)
    print(f"{len(cases) + 2 - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
