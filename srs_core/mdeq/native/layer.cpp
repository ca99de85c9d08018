// One evaluation of MDEQ's layer f, sample by sample, on one processor core.
//
// All that one sample needs fits into a core's own cache, so each sample goes through the whole layer before
// the next one begins. Shapes are compile-time constants: -DCHANNELS=8,16,32 -DHEIGHT=32 -DWIDTH=32 (of the
// finest branch; each further branch has half the height and width). Parameters arrive as one stream of
// floats in the order in which they are used, as kernel.py packs them.

#include "maps.h"

#include <cstdint>

namespace {

constexpr int channels[] = {CHANNELS};
constexpr int branches = sizeof(channels) / sizeof(channels[0]);
constexpr int expansion = 5;
constexpr int groups = 8;
constexpr int fusion_groups = 4;

template <int I>
using Branch = Map<(HEIGHT >> I), (WIDTH >> I), channels[I]>;

// Call the function with every branch's index, as a compile-time constant.
template <class F, int... I>
inline void for_each_branch(F function, std::integer_sequence<int, I...>) {
    (function(std::integral_constant<int, I>{}), ...);
}
template <class F>
inline void for_each_branch(F function) {
    for_each_branch(function, std::make_integer_sequence<int, branches>{});
}

template <int I>
void residual_block(const float* state, const float* injection, const float*& weights) {
    using Outer = Branch<I>;
    using Inner = Map<Outer::H, Outer::W, expansion * Outer::C>;
    Outer& features = scratch<Outer>();
    Outer& z = scratch<Outer, 1>();
    Inner& inner = scratch<Inner>();
    constexpr int row = Outer::W * Outer::C;
    for_each_vector(z, [&](float* p, int y, int x, int c) { at(p) = at(state + y * row + x * Outer::step + c); });
    convolve<3, 1>(z, weights, inner);
    GroupNorm<Inner, groups> first(inner, weights);
    for_each_vector(inner, [&](float* p, int, int, int c) { at(p) = relu(first.apply(at(p), c)); });
    convolve<3, 1>(inner, weights, features);
    if (I == 0)
        for_each_vector(features, [&](float* p, int y, int x, int c) {
            at(p) += at(injection + y * row + x * Outer::step + c);
        });
    GroupNorm<Outer, groups> second(features, weights);
    for_each_vector(features, [&](float* p, int y, int x, int c) {
        at(p) = relu(second.apply(at(p), c) + at(z.row(y) + x * Outer::step + c));
    });
    GroupNorm<Outer, groups> third(features, weights);
    for_each_vector(features, [&](float* p, int, int, int c) { at(p) = third.apply(at(p), c); });
}

template <int FROM, int TO>
void add_from_coarser(const float*& weights, Branch<TO>& total) {
    using Coarse = Map<Branch<FROM>::H, Branch<FROM>::W, channels[TO]>;
    Coarse& coarse = scratch<Coarse, 2>();
    convolve<1, 1>(scratch<Branch<FROM>>(), weights, coarse);
    GroupNorm<Coarse, groups> norm(coarse, weights);
    for_each_vector(coarse, [&](float* p, int, int, int c) { at(p) = norm.apply(at(p), c); });
    constexpr int shift = FROM - TO, C = channels[TO];
    for (int y = 0; y < Branch<TO>::H; y++) {
        float* __restrict target = total.row(y);
        const float* __restrict source = coarse.row(y >> shift);
        for (int x = 0; x < Coarse::W; x++, source += C)
            for (int copy = 0; copy < 1 << shift; copy++, target += C)
                for (int c = 0; c < C; c++) target[c] += source[c];
    }
}

template <int AT, int TO, class In>
void add_from_finer(const In& in, const float*& weights, Branch<TO>& total) {
    using Out = Map<In::H / 2, In::W / 2, (AT + 1 == TO ? channels[TO] : In::C)>;
    Out& out = scratch<Out, 2>();
    convolve<3, 2>(in, weights, out);
    GroupNorm<Out, groups> norm(out, weights);
    if constexpr (AT + 1 == TO) {
        for_each_vector(total, [&](float* p, int y, int x, int c) {
            at(p) += norm.apply(at(out.row(y) + x * Out::step + c), c);
        });
    } else {
        for_each_vector(out, [&](float* p, int, int, int c) { at(p) = relu(norm.apply(at(p), c)); });
        add_from_finer<AT + 1, TO>(out, weights, total);
    }
}

template <int TO>
void fuse(const float*& weights, float* result) {
    using Out = Branch<TO>;
    Out& total = scratch<Out, 3>();
    const Out& own = scratch<Out>();
    for_each_vector(total, [&](float* p, int y, int x, int c) { at(p) = at(own.row(y) + x * Out::step + c); });
    for_each_branch([&](auto from) {
        if constexpr (from < TO) add_from_finer<from, TO>(scratch<Branch<from>>(), weights, total);
        if constexpr (from > TO) add_from_coarser<from, TO>(weights, total);
    });
    for_each_vector(total, [&](float* p, int, int, int) { at(p) = relu(at(p)); });
    Out& out = scratch<Out, 1>();
    convolve<1, 1>(total, weights, out);
    GroupNorm<Out, fusion_groups, false> norm(out, weights);
    for_each_vector(out, [&](float* p, int y, int x, int c) {
        at(result + (y * Out::steps + x) * Out::step + c) = norm.apply(at(p), c);
    });
}

}  // namespace

// Take samples from the counter until all are done, so that threads share the work as it comes.
extern "C" void mdeq_layer(const float* const* state, const float* injection, float* const* result,
                           const float* parameters, std::int64_t samples, std::int64_t* next) {
    for (std::int64_t n; (n = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED)) < samples;) {
        const float* weights = parameters;
        for_each_branch([&](auto i) {
            constexpr std::int64_t size = Branch<i>::H * Branch<i>::W * Branch<i>::C;
            residual_block<i>(state[i] + n * size, i == 0 ? injection + n * size : nullptr, weights);
        });
        for_each_branch([&](auto i) {
            constexpr std::int64_t size = Branch<i>::H * Branch<i>::W * Branch<i>::C;
            fuse<i>(weights, result[i] + n * size);
        });
    }
}
