// What the C++ runtime calls before it gives up: its own version prints, with the 6 kB of printf. Nothing can
// reach it but a fault of ours, since the binding catches every exception, and Emscripten's abort() says
// where it was called.
#include <cstdlib>

extern "C" [[noreturn]] void abort_message(const char*, ...) { std::abort(); }
