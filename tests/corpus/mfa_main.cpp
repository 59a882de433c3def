/* Prints the Metal source of a kernel of metal-flash-attention (ccv's version 2), and on a first line its threads and its
 * threadgroup memory:
 *   gemm M N K  A B C (memory)  A B C (registers)  SPLITS-M SPLITS-N  TRANSPOSED-A -B  ASYNC-LOAD ASYNC-STORE
 *   attention KIND  ROWS COLUMNS HEAD-BLOCK  HEAD-DIMENSION HEADS  HALVES CACHED ASYNC SCALE
 * Precisions: 0 float, 1 half, 2 bfloat. KIND: 0 forward, 1 gradient of queries, 2 of keys and values. */
#include "AttentionKernel.hpp"
#include "GEMMKernel.hpp"

#include <cstdio>

static std::vector<int> numbers(char **texts, int count)
{
    std::vector<int> values;
    for (int i = 0; i < count; i++) values.push_back(std::atoi(texts[i]));
    return values;
}

/* The constructors, as the descriptors' own files need more of the host. */
GEMMKernelDescriptor::GEMMKernelDescriptor(simd::ushort3 block, GEMMOperandPrecisions memory, std::optional<simd::ushort3> padded,
    bool load, bool store, GEMMOperandPrecisions registers, simd::ushort2 split, simd::uchar3 transposed, bool bias) noexcept
    : blockDimensions(block), memoryPrecisions(memory), leadingBlockDimensions(padded), preferAsyncLoad(load), preferAsyncStore(store),
      registerPrecisions(registers), splits(split), transposeState(transposed), useBias(bias)
{
}

AttentionKernelDescriptor::AttentionKernelDescriptor(simd::ushort3 block, AttentionOperands<bool> cached, unsigned short head,
    unsigned short hq, unsigned short hk, AttentionOperands<GEMMOperandPrecision> memory, bool cache, bool load,
    AttentionOperands<GEMMOperandPrecision> registers, AttentionOperands<bool> transposed,
    AttentionOperands<unsigned short> leading, AttentionKernelType kind, float factor) noexcept
    : blockDimensions(block), cacheState(cached), headDimension(head), Hq(hq), Hk(hk), memoryPrecisions(memory), preferAsyncCache(cache),
      preferAsyncLoad(load), registerPrecisions(registers), transposeState(transposed), leadingDimensions(leading), type(kind), scale(factor)
{
}

static GEMMOperandPrecision precision(int i)
{
    return GEMMOperandPrecision::Value(i);
}

static void gemm(const std::vector<int> &v)
{
    MTL::Device device;
    GEMMOperandPrecisions memory = {precision(v[3]), precision(v[4]), precision(v[5]), precision(v[5])};
    GEMMOperandPrecisions registers = {precision(v[6]), precision(v[7]), precision(v[8]), precision(v[8])};
    GEMMKernelDescriptor descriptor(simd::ushort3{(unsigned short)v[0], (unsigned short)v[1], (unsigned short)v[2]}, memory, std::nullopt, v[13], v[14],
        registers, simd::ushort2{(unsigned short)v[9], (unsigned short)v[10]}, simd::uchar3{(unsigned char)v[11], (unsigned char)v[12], 0}, false);
    GEMMKernel kernel(descriptor, &device);
    std::printf("%d %d\n%s", int(kernel.threadgroupSize), int(kernel.threadgroupMemoryAllocation), kernel.source.c_str());
}

static void attention(const std::vector<int> &v, float scale)
{
    typedef AttentionOperand O;
    MTL::Device device;
    AttentionOperands<bool> cached, transposed;
    AttentionOperands<GEMMOperandPrecision> memory, registers;
    AttentionOperands<unsigned short> leading;
    for (O operand : {O::Q, O::K, O::S, O::P, O::V, O::O, O::L, O::D, O::dO, O::dV, O::dP, O::dS, O::dK, O::dQ}) {
        bool input = operand.value == O::Q || operand.value == O::K || operand.value == O::V;
        GEMMOperandPrecision kind = precision(v[6] && input ? 1 : 0);
        cached[operand] = v[7];
        transposed[operand] = false;
        leading[operand] = (unsigned short)(v[4] * v[5]);
        memory[operand] = kind;
        registers[operand] = kind;
    }
    AttentionKernelDescriptor descriptor(simd::ushort3{(unsigned short)v[1], (unsigned short)v[2], (unsigned short)v[3]}, cached, (unsigned short)v[4],
        (unsigned short)v[5], (unsigned short)v[5], memory, v[8], v[8], registers, transposed, leading, AttentionKernelType::Value(v[0]), scale);
    AttentionKernel kernel(descriptor, &device);
    std::printf("%d %d\n%s", int(kernel.threadgroupSize), int(kernel.threadgroupMemoryAllocation), kernel.source.c_str());
}

int main(int count, char **texts)
{
    if (count == 17 && std::string(texts[1]) == "gemm")
        gemm(numbers(texts + 2, 15));
    else if (count == 12 && std::string(texts[1]) == "attention")
        attention(numbers(texts + 2, 9), float(std::atof(texts[11])));
    else
        return 2;
    return 0;
}
