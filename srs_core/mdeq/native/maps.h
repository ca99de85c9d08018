// Feature maps in memory, and what a layer does with them: convolution, group norm, element by element.

#include <type_traits>
#include <utility>
#if BFLOAT16
#include <immintrin.h>
#endif

namespace {

constexpr float epsilon = 1e-5f;

// A vector of 16 floats is one register with AVX-512, of which there are 32. A tile of the output (pixels x
// vectors) is what a convolution keeps in registers while it sums.
constexpr int lanes = 16;
constexpr int tile_vectors = 3, tile_registers = 24;
typedef float Vec __attribute__((vector_size(4 * lanes), aligned(4), may_alias));

inline const Vec& at(const float* p) { return *reinterpret_cast<const Vec*>(p); }
inline Vec& at(float* p) { return *reinterpret_cast<Vec*>(p); }

// A NaN stays a NaN, so that a diverging state is seen.
inline Vec relu(Vec v) { return v < 0.0f ? Vec{} : v; }

// Where C channels do not fill a vector, two neighbouring pixels share one.
constexpr int pixels_per_step(int C) { return C % lanes ? 2 : 1; }

// A feature map in channels-last order with a border of zeros, which nothing ever writes to.
template <int H_, int W_, int C_>
struct alignas(64) Map {
    static constexpr int H = H_, W = W_, C = C_;
    static constexpr int step = C * pixels_per_step(C), steps = W / pixels_per_step(C);
    static_assert(step % lanes == 0 && W % pixels_per_step(C) == 0, "the map cannot be cut into vectors");
    static constexpr long size = long(H) * W * C;
    static constexpr int depth = C, pitch = (W + 2) * C;
    float data[(H + 2) * pitch];
    float* row(int y) { return data + (y + 1) * pitch + C; }
    const float* row(int y) const { return data + (y + 1) * pitch + C; }
};

// A working map of this thread. TAG tells apart maps of one shape that are needed at the same time.
template <class M, int TAG = 0>
M& scratch() {
    static thread_local M map{};
    return map;
}

// What a convolution multiplies lies in slots of four bytes: a float or, with -DBFLOAT16=1, the upper halves of the
// floats of two neighbouring channels, whose products one instruction adds to a sum that stays a float.
#if BFLOAT16
inline Vec multiply_add(float slot, const float* weights, Vec sum) {
    return Vec(_mm512_dpbf16_ps(__m512(sum), __m512bh(_mm512_set1_ps(slot)), __m512bh(_mm512_loadu_ps(weights))));
}

template <class M>
struct alignas(64) Halves {
    static constexpr int depth = M::depth / 2, pitch = M::pitch / 2;
    float data[(M::H + 2) * pitch];
    const float* row(int y) const { return data + (y + 1) * pitch + depth; }
};

template <class M>
inline const Halves<M>& operand(const M& map) {
    constexpr int size = (M::H + 2) * M::pitch;
    static_assert(size % lanes == 0, "a map with its border is a whole number of vectors");
    Halves<M>& halves = scratch<Halves<M>>();
    for (int i = 0; i < size; i += lanes)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(halves.data + i / 2),
                            __m256i(_mm512_cvtneps_pbh(__m512(at(map.data + i)))));
    return halves;
}
#else
inline Vec multiply_add(float slot, const float* weights, Vec sum) { return sum + slot * at(weights); }

template <class M>
inline const M& operand(const M& map) {
    return map;
}
#endif

// P x V vectors of the output, summed in registers. Each input value is fetched once and serves every
// output pixel that it reaches. TAPS columns of the input reach a step, and steps are STRIDE columns apart.
template <int P, int V, int K, int TAPS, int STRIDE, class In, int WIDE>
inline void tile(const float* in, const float* weights, float* out) {
    Vec sum[P][V] = {};
    for (int dy = 0; dy < K; dy++) {
        for (int k = 0; k < In::depth; k++) {
#pragma GCC unroll 64
            for (int column = 0; column < (P - 1) * STRIDE + TAPS; column++) {
                const float value = in[column * In::depth + k];
#pragma GCC unroll 8
                for (int tap = 0; tap < TAPS; tap++) {
                    const int p = (column - tap) / STRIDE;
                    if (column < tap || (column - tap) % STRIDE || p >= P) continue;
#pragma GCC unroll 4
                    for (int v = 0; v < V; v++)
                        sum[p][v] = multiply_add(value, weights + (tap * In::depth + k) * WIDE + v * lanes, sum[p][v]);
                }
            }
        }
        in += In::pitch;
        weights += TAPS * In::depth * WIDE;
    }
    for (int p = 0; p < P; p++)
        for (int v = 0; v < V; v++) at(out + p * WIDE + v * lanes) = sum[p][v];
}

constexpr int largest_divisor(int number, int limit) {
    while (number % limit) limit--;
    return limit;
}

// A K x K convolution with stride S and padding K/2, from the output vector at position BEGIN onwards.
template <int K, int S, int BEGIN, class In, class Out>
void convolve_from(const In& in, const float* weights, Out& out) {
    constexpr int pixels = pixels_per_step(Out::C);
    constexpr int taps = K + (pixels - 1) * S, stride = S * pixels;
    constexpr int left = (Out::step - BEGIN) / lanes;
    constexpr int vectors = left == 4 || left < tile_vectors ? (left < 2 ? 1 : 2) : tile_vectors;
    constexpr int length = largest_divisor(Out::steps, tile_registers / vectors);
    for (int y = 0; y < Out::H; y++) {
        const float* source = in.row(y * S - K / 2) - K / 2 * In::depth;
        float* target = out.row(y) + BEGIN;
        for (int x = 0; x < Out::steps; x += length)
            tile<length, vectors, K, taps, stride, In, Out::step>(
                source + x * stride * In::depth, weights + BEGIN, target + x * Out::step);
    }
    if constexpr (left > vectors) convolve_from<K, S, BEGIN + vectors * lanes>(in, weights, out);
}

template <int K, int S, class In, class Out>
void convolve(const In& in, const float*& weights, Out& out) {
    constexpr int pixels = pixels_per_step(Out::C);
    const auto& source = operand(in);
    convolve_from<K, S, 0>(source, weights, out);
    weights += K * (K + (pixels - 1) * S) * source.depth * Out::step;
}

template <class M, class F>
inline void for_each_vector(M& map, F function) {
    for (int y = 0; y < M::H; y++)
        for (int x = 0; x < M::steps; x++)
            for (int c = 0; c < M::step; c += lanes) function(map.row(y) + x * M::step + c, y, x, c);
}

// The sum of term(vector, c) over all pixels, row by row: a long sum loses fewer digits in two stages.
template <class M, class F>
inline void sum_over_pixels(const M& map, float* total, F term) {
    for (int c = 0; c < M::step; c++) total[c] = 0.0f;
    for (int y = 0; y < M::H; y++)
        for (int c = 0; c < M::step; c += lanes) {
            Vec sum = {};
            for (int x = 0; x < M::steps; x++) sum += term(at(map.row(y) + x * M::step + c), c);
            at(total + c) += sum;
        }
}

// Add a bias (one value per position of a step) and cut off below zero.
template <class M>
inline void bias_relu(M& map, const float*& bias) {
    for_each_vector(map, [&](float* p, int, int, int c) { at(p) = relu(at(p) + at(bias + c)); });
    bias += M::step;
}

// A group norm as a factor and a summand per channel: apply(v, c) is for the vector at position c of a step.
template <class M, int GROUPS, bool AFFINE = true>
struct GroupNorm {
    static constexpr int size = M::C / GROUPS;
    alignas(64) float factor[M::step], summand[M::step];

    GroupNorm(const M& map, const float*& affine) {
        alignas(64) float total[M::step], mean[M::step];
        sum_over_pixels(map, total, [](Vec v, int) { return v; });
        average(total, mean);
        sum_over_pixels(map, total, [&](Vec v, int c) { return (v - at(mean + c)) * (v - at(mean + c)); });
        average(total, factor);
        for (int c = 0; c < M::step; c++) {
            float scale = 1.0f / __builtin_sqrtf(factor[c] + epsilon);
            if (AFFINE) scale *= affine[c % M::C];
            factor[c] = scale;
            summand[c] = (AFFINE ? affine[M::C + c % M::C] : 0.0f) - mean[c] * scale;
        }
        if (AFFINE) affine += 2 * M::C;
    }

    Vec apply(Vec v, int c) const { return v * at(factor + c) + at(summand + c); }

    static void average(const float* total, float* mean) {
        float sum[GROUPS] = {};
        for (int c = 0; c < M::step; c++) sum[c % M::C / size] += total[c];
        for (int c = 0; c < M::step; c++) mean[c] = sum[c % M::C / size] / (float(size) * M::H * M::W);
    }
};

}  // namespace
