// MDEQ's head, sample by sample: from the state of every branch to logits. Further constants: -DHEAD=7,14,28 (the
// bottlenecks' channels, which widen four times) -DFINAL=200 -DCLASSES=10.

#include "branches.h"

namespace {

constexpr int head[] = {HEAD};

// Channels that fill no vector are joined by channels of zeros.
constexpr int padded(int C) { return C <= lanes / 2 ? lanes / 2 : (C + lanes - 1) / lanes * lanes; }

template <int I>
using Narrow = Map<Branch<I>::H, Branch<I>::W, padded(head[I])>;
template <int I>
using Wide = Map<Branch<I>::H, Branch<I>::W, padded(4 * head[I])>;

template <int I>
Wide<I>& bottleneck(const float* state, const float*& weights) {
    Branch<I>& z = scratch<Branch<I>>();
    Narrow<I>& first = scratch<Narrow<I>, 1>();
    Narrow<I>& second = scratch<Narrow<I>, 2>();
    Wide<I>& out = scratch<Wide<I>, 3>();
    Wide<I>& shortcut = scratch<Wide<I>, 4>();
    load(state, z);
    convolve<1, 1>(z, weights, first);
    bias_relu(first, weights);
    convolve<3, 1>(first, weights, second);
    bias_relu(second, weights);
    convolve<1, 1>(second, weights, out);
    convolve<1, 1>(z, weights, shortcut);
    for_each_vector(out, [&](float* p, int y, int x, int c) {
        at(p) += at(shortcut.row(y) + x * Wide<I>::step + c);
    });
    bias_relu(out, weights);
    return out;
}

template <int I>
void add_downsampled(const float*& weights, Wide<I>& total) {
    Wide<I>& down = scratch<Wide<I>, 4>();
    convolve<3, 2>(scratch<Wide<I - 1>, 3>(), weights, down);
    bias_relu(down, weights);
    for_each_vector(total, [&](float* p, int y, int x, int c) { at(p) += at(down.row(y) + x * Wide<I>::step + c); });
}

void classify(const float*& weights, float* logits) {
    constexpr int last = branches - 1;
    using Final = Map<Branch<last>::H, Branch<last>::W, padded(FINAL)>;
    static_assert(Final::step == Final::C, "the final channels fill whole vectors");
    Final& final = scratch<Final>();
    convolve<1, 1>(scratch<Wide<last>, 3>(), weights, final);
    bias_relu(final, weights);
    alignas(64) float total[Final::C];
    sum_over_pixels(final, total, [](Vec v, int) { return v; });
    for (int k = 0; k < CLASSES; k++, weights += Final::C) {
        Vec sum = {};
        for (int c = 0; c < Final::C; c += lanes) sum += at(total + c) * at(weights + c);
        float logit = 0.0f;
        for (int lane = 0; lane < lanes; lane++) logit += sum[lane];
        logits[k] = logit / (Final::H * Final::W);
    }
    for (int k = 0; k < CLASSES; k++) logits[k] += weights[k];
}

}  // namespace

// Inputs: the state of every branch. Output: the logits.
extern "C" void run(const float* const* inputs, float* const* outputs, const float* parameters, std::int64_t samples,
                    std::int64_t* next) {
    for_each_sample(samples, next, [&](std::int64_t n) {
        const float* weights = parameters;
        for_each_branch([&](auto i) {
            auto& total = bottleneck<i>(inputs[i] + n * Branch<i>::size, weights);
            if constexpr (i > 0) add_downsampled<i>(weights, total);
        });
        classify(weights, outputs[0] + n * CLASSES);
    });
}
