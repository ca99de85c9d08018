// One evaluation of MDEQ's layer f, sample by sample, on one processor core.
//
// All that one sample needs fits into a core's own cache, so each sample goes through the whole layer before
// the next one begins.

#include "branches.h"

namespace {

constexpr int expansion = 5;
constexpr int groups = 8;
constexpr int fusion_groups = 4;

template <int I>
void residual_block(const float* state, const float* injection, const float*& weights) {
    using Outer = Branch<I>;
    using Inner = Map<Outer::H, Outer::W, expansion * Outer::C>;
    Outer& features = scratch<Outer>();
    Outer& z = scratch<Outer, 1>();
    Inner& inner = scratch<Inner>();
    load(state, z);
    convolve<3, 1>(z, weights, inner);
    GroupNorm<Inner, groups> first(inner, weights);
    for_each_vector(inner, [&](float* p, int, int, int c) { at(p) = relu(first.apply(at(p), c)); });
    convolve<3, 1>(inner, weights, features);
    if (I == 0)
        for_each_vector(features, [&](float* p, int y, int x, int c) {
            at(p) += at(injection + (y * Outer::steps + x) * Outer::step + c);
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

// Inputs: the state of every branch, then the injection. Outputs: the new state of every branch.
extern "C" void run(const float* const* inputs, float* const* outputs, const float* parameters, std::int64_t samples,
                    std::int64_t* next) {
    for_each_sample(samples, next, [&](std::int64_t n) {
        const float* weights = parameters;
        for_each_branch([&](auto i) {
            residual_block<i>(inputs[i] + n * Branch<i>::size, inputs[branches] + n * Branch<0>::size, weights);
        });
        for_each_branch([&](auto i) { fuse<i>(weights, outputs[i] + n * Branch<i>::size); });
    });
}
