// MDEQ's stem without strides, sample by sample: from a picture [3, H, W] to the injection.

#include "branches.h"

namespace {

// Three colours, and channels of zeros that fill them up to what a vector can be cut into.
using Picture = Map<HEIGHT, WIDTH, lanes / 2>;

}  // namespace

// Input: the pictures. Output: the injection. The parameters begin with the colours' means and deviations.
extern "C" void run(const float* const* inputs, float* const* outputs, const float* parameters, std::int64_t samples,
                    std::int64_t* next) {
    using Out = Branch<0>;
    Picture& picture = scratch<Picture>();
    Out& first = scratch<Out, 1>();
    Out& second = scratch<Out, 2>();
    for_each_sample(samples, next, [&](std::int64_t n) {
        const float* weights = parameters + 6;
        for (int colour = 0; colour < 3; colour++) {
            const float* plane = inputs[0] + (3 * n + colour) * HEIGHT * WIDTH;
            const float mean = parameters[colour], deviation = parameters[3 + colour];
            for (int y = 0; y < HEIGHT; y++)
                for (int x = 0; x < WIDTH; x++)
                    picture.row(y)[x * Picture::C + colour] = (plane[y * WIDTH + x] - mean) / deviation;
        }
        convolve<3, 1>(picture, weights, first);
        bias_relu(first, weights);
        convolve<3, 1>(first, weights, second);
        bias_relu(second, weights);
        convolve<1, 1>(second, weights, first);
        bias_relu(first, weights);
        float* injection = outputs[0] + n * Out::size;
        for_each_vector(first, [&](float* p, int y, int x, int c) {
            at(injection + (y * Out::steps + x) * Out::step + c) = at(p);
        });
    });
}
