// What the machine gives: the rate of independent multiply-add chains, and of a copy. Thirteen chains are what sixteen
// registers hold beside the two constants; fewer wait for each other, more spill. No omnigrad in here.
typedef float lanes __attribute__((vector_size(16)));

enum { chains = 13 };

// Runs `rounds` rounds of `chains` multiply-adds of 4 lanes each: 8 * chains operations a round.
__attribute__((export_name("multiplyAdd"))) float multiply_add(int rounds) {
  lanes sums[chains];
#pragma clang loop unroll(full)
  for (int i = 0; i < chains; i++) sums[i] = (lanes){} + (float)i;
  const lanes factor = (lanes){} + 0.999f;
  const lanes term = (lanes){} + 0.001f;
  for (int round = 0; round < rounds; round++) {
#pragma clang loop unroll(full)
    for (int i = 0; i < chains; i++) sums[i] = sums[i] * factor + term;
  }
  lanes total = sums[0];
#pragma clang loop unroll(full)
  for (int i = 1; i < chains; i++) total += sums[i];
  return total[0] + total[1] + total[2] + total[3];
}

// Copies `bytes`, a multiple of 16, from one place to another that does not overlap it.
__attribute__((export_name("copy"))) void copy(lanes* to, const lanes* from, int bytes) {
  for (int i = 0; i < bytes / 16; i++) to[i] = from[i];
}
