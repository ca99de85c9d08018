// The branches of one model as compile-time constants: -DCHANNELS=8,16,32 -DHEIGHT=32 -DWIDTH=32 (of the finest
// branch; each further branch has half the height and width). Parameters arrive as one stream of floats in the
// order in which they are used, as packing.py writes them.

#include "maps.h"

#include <cstdint>

namespace {

constexpr int channels[] = {CHANNELS};
constexpr int branches = sizeof(channels) / sizeof(channels[0]);

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

// A state as it lies in memory, brought into a map with a border.
template <class M>
inline void load(const float* state, M& map) {
    for_each_vector(map, [&](float* p, int y, int x, int c) { at(p) = at(state + (y * M::steps + x) * M::step + c); });
}

// Call the function with the number of every sample that falls to this thread: threads take samples from the
// counter until all are done, and so share the work as it comes.
template <class F>
inline void for_each_sample(std::int64_t samples, std::int64_t* next, F function) {
    for (std::int64_t n; (n = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED)) < samples;) function(n);
}

}  // namespace
