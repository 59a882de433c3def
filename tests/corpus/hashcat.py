"""Executes the hash functions of a hashcat checkout: hashcat.py TOMBAC DEVICE CHECKOUT.

hashcat's own kernels report through bitmaps and tables that its host side makes; here a kernel of ours calls the functions that they
are built of, on messages of all lengths around a block's, and hashlib is the judge."""
import hashlib
import hmac
import os
import sys
import tempfile

import numpy as np

from kit import Kit, main

LENGTHS = [0, 1, 3, 4, 55, 56, 63, 64, 65, 111, 112, 119, 120, 127, 128, 200, 250]
WORDS = 64
DEFINES = ["KERNEL_STATIC", "INCLUDE_PATH=OpenCL", "XM2S(x)=#x", "M2S(x)=XM2S(x)", "IS_APPLE_SILICON", "LOCAL_MEM_TYPE=1", "VENDOR_ID=2",
           "CUDA_ARCH=0", "VECT_SIZE=1", "DEVICE_TYPE=4", "DGST_R0=0", "DGST_R1=1", "DGST_R2=2", "DGST_R3=3", "DGST_ELEM=4",
           "KERN_TYPE=0", "ATTACK_EXEC=11", "ATTACK_KERN=3", "ATTACK_MODE=3"]
DEFINES += [f"HAS_{name}=0" for name in "ADD ADDC SUB SUBC VADD VADDC VADD_CO VADDC_CO VSUB VSUBB VSUB_CO VSUBB_CO VPERM VADD3 VBFE BFE "
            "LOP3 MOV64 PRMT SHFW".split()]
# name of hashlib: hashcat's name, the word of a digest, whether messages are swapped into the words, words of a digest
HASHES = {"md5": ("md5", "u32", False, 4), "sha1": ("sha1", "u32", True, 5), "sha256": ("sha256", "u32", True, 8),
          "sha512": ("sha512", "u64", True, 8)}


def source(hashes):
    text = ['#include M2S(INCLUDE_PATH/inc_vendor.h)', '#include M2S(INCLUDE_PATH/inc_types.h)',
            '#include M2S(INCLUDE_PATH/inc_platform.cl)', '#include M2S(INCLUDE_PATH/inc_common.cl)']
    text += [f'#include M2S(INCLUDE_PATH/inc_hash_{name}.cl)' for name, *_ in hashes.values()]
    for name, word, swapped, words in hashes.values():
        update = f"{name}{{0}}_update{'_swap' if swapped else ''} (&ctx, message, lengths[i]);"
        load = f"u32 message[{WORDS}]; for (int k = 0; k < {WORDS}; k++) message[k] = messages[i * {WORDS} + k];"
        head = ("(device const u32 *messages [[buffer (0)]], device const int *lengths [[buffer (1)]], "
                f"device {word} *out [[buffer (2)]], device const u32 *keys [[buffer (3)]], uint i [[thread_position_in_grid]])")
        text.append(f"kernel void plain_{name} {head} {{ {load} {name}_ctx_t ctx; {name}_init (&ctx); {update.format('')} "
                    f"{name}_final (&ctx); for (int k = 0; k < {words}; k++) out[i * {words} + k] = ctx.h[k]; }}")
        key = "u32 key[32]; for (int k = 0; k < 32; k++) key[k] = keys[k];"
        init = f"{name}_hmac_init{'_swap' if swapped else ''} (&ctx, key, 20);"
        text.append(f"kernel void keyed_{name} {head} {{ {load} {key} {name}_hmac_ctx_t ctx; {init} {update.format('_hmac')} "
                    f"{name}_hmac_final (&ctx); for (int k = 0; k < {words}; k++) out[i * {words} + k] = ctx.opad.h[k]; }}")
    return "\n".join(text) + "\n"


def digest(name, keyed):
    own, word, swapped, words = HASHES[name]

    def case(kit):
        rng = np.random.default_rng(len(name) + keyed)
        texts = [bytes(rng.integers(0, 256, n, dtype=np.uint8)) for n in LENGTHS]
        messages = np.array([np.frombuffer(t.ljust(4 * WORDS, b"\0"), np.uint32) for t in texts])
        key = bytes(rng.integers(0, 256, 20, dtype=np.uint8))
        keys = np.frombuffer(key.ljust(128, b"\0"), np.uint32)
        kind = np.uint64 if word == "u64" else np.uint32
        arguments = {0: messages, 1: np.array(LENGTHS, np.int32), 2: np.zeros((len(texts), words), kind), 3: keys}
        (out,) = kit.run(f"{'keyed' if keyed else 'plain'}_{own}", arguments, grid=(len(texts), 1, 1), outputs=[2])
        order = ">" if swapped else "<"
        expected = [np.frombuffer(hmac.new(key, t, name).digest() if keyed else hashlib.new(name, t).digest(), f"{order}u{kind().itemsize}")
                    for t in texts]
        yield out.view(np.uint8), np.array(expected).astype(kind).view(np.uint8), 0
    return case


def run():
    tombac, device, checkout = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "hashes.metal")
        with open(path, "w") as out:
            out.write(source(HASHES))
        options = [word for define in DEFINES for word in ("-D", define)] + ["-I", checkout, "-I", os.path.join(checkout, "OpenCL")]
        cases = [(("HMAC-" if keyed else "") + name, "hashes", digest(name, keyed)) for name in HASHES for keyed in (False, True)]
        return main("hashcat", cases, {"hashes": Kit(tombac, device, path, options)})


os.environ.setdefault("TOMBAC_CC_TIME", "280")  # SHA-512 is all unrolled
sys.exit(run())
