// `main` of the GoogleTest program in wasm. clang-19 calls a C++ main `__main_argc_argv`; Emscripten 3.1.6
// looks for `main` and, finding none, links an empty module without an error. Not part of the library.
#include <gtest/gtest.h>

int test_main(int argc, char** argv) __asm__("main");

int test_main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
